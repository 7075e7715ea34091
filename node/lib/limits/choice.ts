import type { Definition, Named, WidenedFields } from './definitions.js'

/**
 * A definition whose type is known to be a string and no more, as in an imported JSON file; it is checked when it is
 * used. One whose type is known has to have the fields of that type.
 */
export type WidenedDefinition<T extends string> = Named & { readonly type: T & Widened<T> } & WidenedFields

/** Any string will do, where nothing more is known. */
type Widened<T extends string> = string extends T ? unknown : never

/**
 * A function of the caller's own context, such as a request or a plan, that returns the limits to enforce; it may be
 * asynchronous where the call returns a promise.
 */
export type Choice<C> = (context: C) => Chosen | Promise<Chosen>

/** The result of a choice. */
export type Chosen = Definition | readonly Definition[]

/** One limit, or several that are decided together: either every one is charged or none. */
export type AnyLimit<C = unknown, T extends string = never> =
  | Definition
  | WidenedDefinition<T>
  | Choice<C>
  | readonly (Definition | WidenedDefinition<T> | Choice<C>)[]
