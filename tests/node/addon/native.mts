/**
 * The types of the addon in `node/lib/native/native.ts` beside those that napi-rs derives from the Rust functions; the compiler
 * checks it, nobody runs it.
 *
 * They are written by hand because napi-rs cannot say some of them: texts of which there are a few, lists that are only
 * read, and the functions that do not go through it. What it can say has to be the same: the names, the arguments, the
 * fields of what is returned, and which of them may be missing.
 */

import type * as addon from '../../../node/dist/addon.js'
import type { native } from '../../../node/dist/native/native.js'

type Derived = typeof addon
type Written = typeof native
type DerivedGate = InstanceType<Derived['Gate']>
type WrittenGate = Exclude<ReturnType<Written['makeGate']>, { readonly kind: unknown }>

/** Node-API functions of our own, and the arrays that they share. */
type Bare = 'callBuffer' | 'fastBuffer' | 'limit' | 'decide' | 'decideFew' | 'ask'

/** Classes that functions of the addon make. */
type Classes =
  | 'Document'
  | 'Watched'
  | 'Gate'
  | 'Names'
  | 'TrialCounts'
  | 'Denials'
  | 'Outgoing'
  | 'Plan'
  | 'Counted'
  | 'Estimator'

/** The type, but for what napi-rs cannot say. */
type Plain<T> = T extends string
  ? string
  : T extends Float64Array
    ? Float64Array
    : T extends DerivedGate | WrittenGate
      ? 'gate'
      : T extends (...given: never[]) => unknown
        ? () => unknown
        : T extends readonly (infer Item)[]
          ? Plain<Item>[]
          : T extends object
            ? { -readonly [Name in keyof T]: Plain<Exclude<T[Name], undefined>> }
            : T

type Function = (...given: never[]) => unknown
type PlainOrAny<T> = unknown extends T ? unknown : Plain<T>
type Each<All extends unknown[]> = { [At in keyof All]: PlainOrAny<All[At]> }
type OrNone<All extends unknown[]> = { [At in keyof All]?: All[At] | null | undefined }
/** The arguments that are passed, and those that are taken: one that is left out is `undefined`. */
type Given<F> = F extends Function ? Each<Parameters<F>> : never
type Taken<F> = F extends Function ? OrNone<Each<Parameters<F>>> : never
type Answered<F> = F extends Function ? PlainOrAny<ReturnType<F>> : never

type IsSame<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
/** The functions of both that differ. */
type Differing<D, W> = {
  [Name in keyof D & keyof W]: [Given<W[Name]>] extends [Taken<D[Name]>]
    ? IsSame<Answered<D[Name]>, Answered<W[Name]>> extends true
      ? never
      : Name
    : Name
}[keyof D & keyof W]

type Nothing = Record<never, never>
type Listed<Names> = [Names] extends [never] ? Nothing : Names

export const notWritten: Listed<Exclude<keyof Derived, keyof Written | Classes | 'default'>> = {}
export const notThere: Listed<Exclude<keyof Written, keyof Derived | Bare>> = {}
export const differing: Listed<Differing<Derived, Written>> = {}
export const notWrittenOfGate: Listed<Exclude<keyof DerivedGate, keyof WrittenGate>> = {}
export const notThereOfGate: Listed<Exclude<keyof WrittenGate, keyof DerivedGate>> = {}
export const differingOfGate: Listed<Differing<DerivedGate, WrittenGate>> = {}
