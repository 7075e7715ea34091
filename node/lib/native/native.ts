import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { ReportedFailure } from './names.js'
import { platformName } from './platform.js'
import type { RateLimitPolicy, RateLimits } from './rate-limits.js'

/** A failure, handed back instead of an answer. */
export interface Failure {
  readonly kind: 'type' | 'range' | 'closed' | 'store' | 'configuration' | 'internal'
  readonly key: string
  readonly field: string
  readonly value: string
  /** True if the store may have carried the call out all the same. */
  readonly mayHaveHappened: boolean
  readonly message: string
  readonly server?: string
  readonly reason?: string
  readonly cause?: string
}

/** A limit that the engine made, and its wire form as JSON. */
export interface Made {
  readonly handle: number
  readonly wire: string
}

/** A document of limits. */
export interface NativeDocument {
  /** The definitions, in the order of the document: those of the names, and those of overrides with their numbers. */
  contents(): {
    readonly names: readonly string[]
    readonly limits: readonly Made[]
    readonly overrides: boolean
    readonly overriding: readonly number[]
    readonly definitions: readonly Made[]
  }
  /** The number of the override of this limit and actor, and its factor; empty where there is none. */
  overriding(name: string, actor: string): number[]
  json(): string
}

/** A document that is watched. */
export interface NativeWatched {
  current(): NativeDocument
  /** True if other limits hold, or the faults of a document that is wrong, each once; looked for on a thread beside. */
  look(): Promise<boolean | DocumentFailure>
  /** The same, whether or not the mistake is known. */
  reload(): Promise<boolean | DocumentFailure>
  /** Refuses documents without a limit of this name. */
  need(name: string): boolean
  /** Milliseconds until the next look. */
  pause(): number
}

/** Every fault of a document. */
export interface DocumentFailure {
  readonly message: string
  readonly errors: readonly { path: string; message: string; line?: number; column?: number }[]
}

/** The statistics of a limiter; the numbers in the order of `COUNTERS`. */
export interface Statistics {
  readonly numbers: readonly number[]
  readonly failures: readonly ReportedFailure[]
  readonly met: readonly number[]
  readonly open: boolean
  readonly bounds: readonly number[]
  readonly times: readonly number[]
  readonly sumMs: number
}

/** A metric, with the values of the labels of each number one after the other. */
export interface Numbers {
  readonly name: string
  readonly instrument: string
  readonly help: string
  readonly unit: '1' | 's'
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly named: readonly string[]
  readonly values: readonly number[]
  /** The bounds of its histograms. */
  readonly bounds: readonly number[]
  /** The counts of each, its whole count and its sum, one after the other. */
  readonly histograms: readonly number[]
}

/** The actors that were denied and charged most. */
export interface TopActors {
  readonly denied: readonly CountedActor[]
  readonly charged: readonly CountedActor[]
}

/** An actor with its count, and the most by which that is too high. */
export interface CountedActor {
  readonly actor: string
  readonly count: number
  readonly error: number
}

/** The cost that was spent of the checks of a receipt: of all of them, or of each. */
export type Spent = number | readonly number[]

/** The engine's side of a gate. */
export interface NativeGate {
  headerName(): string
  trustsNobody(): boolean
  client(
    peer: string | undefined,
    lines: readonly string[],
  ): string | { actor: string; code: string; text: string } | Failure
  headers(answers: Float64Array, keys: readonly string[], status: number): string[]
  refusal(
    answers: Float64Array,
    keys: readonly string[],
    accept: readonly string[],
    detail: string | undefined,
  ): { status: number; headers: string[]; body: string; mediaType: string; retryAfter: number }
  rejection(
    name: RequestErrorName,
    accept: readonly string[],
  ): { status: number; headers: string[]; body: string; mediaType: string; retryAfter: number } | Failure
  report(code: string, detail: string): string | undefined | Failure
}

/** The settings of an HTTP client's calls. */
export interface NativeOutgoing {
  /** The indices of the limits that can be observed. */
  observed(): number[]
  /** One of the limits is held until the response has been read. */
  holds(): boolean
  /** Judges a response; `now` is milliseconds since the epoch. */
  judge(
    status: number,
    names: readonly string[],
    values: readonly string[],
    method: string,
    attempt: number,
    replayable: boolean,
    left: readonly number[],
    random: number,
    now: number,
  ): NativeNext | Failure
}

/** The consequences of a response; `remaining` has indices of limits and their units in turn. */
export interface NativeNext {
  readonly remaining: readonly number[]
  readonly stopMs?: number
  readonly retryInMs?: number
}

/** The error of a request that cannot be decided. */
export type RequestErrorName = 'key' | 'cost' | 'too-large' | 'unreadable'

/** The keys of limits: names that were derived, each with the number of its place, and definitions. */
export interface NativeNames {
  /** Notes the name of a place; false where another place has it. */
  claim(name: string, place: number): boolean
  /** Notes a definition; it and an earlier one with the same key that is another one, in words. */
  define(limit: number): string | null
  release(place: number): void
}

/** The entries that decisions about one request have charged. */
export interface NativeCounted {
  /** Notes the enforced checks of a call; the key of a limit that an earlier one has charged for the same actor. */
  note(
    limiter: number,
    isDenied: boolean,
    limits: readonly number[],
    actors: readonly unknown[],
    costs: readonly number[],
    factors: readonly number[],
  ): string | null | undefined
}

/** The decision of a request before it is made. */
export interface NativePlan {
  /** Of each check the index of the one that asked for it first, its cost, and 1 where it is not enforced. */
  planned(): number[]
  enforces(): boolean
  /** Counts what is tried, by the fates of the checks of the decision; the limits in shadow mode that would have denied. */
  count(denied: readonly boolean[], counts: NativeTrialCounts): Shadowed[]
  /** The costs that the checks of the decision really have, by whether the charges of each place stay. */
  costs(charged: readonly boolean[]): number[]
  /** The milliseconds after which units that are held are free again unless they are renewed; null where none are. */
  lease(isDenied: boolean, denied: readonly boolean[]): number | null
}

/** A limit in shadow mode that would have denied, with the number of its place. */
export interface Shadowed {
  readonly place: number
  readonly key: string
}

/** The counts of a limit that is tried. */
export interface TrialCount {
  readonly key: string
  readonly counts: number[]
}

/** Counts of limits that are tried. */
export interface NativeTrialCounts {
  shadow(): TrialCount[]
  candidates(): TrialCount[]
}

/** A count of denials, which says which may be told. */
export interface NativeDenials {
  /** Notes a denial at this time; where it is to be told, the number before it that were not. */
  note(nowMs: number): number | null
}

/** The engine's side of an estimator. */
export interface NativeEstimator {
  record(model: string, purpose: string, output: number): Failure | null
  estimate(model: string, purpose: string, most: number): number | Failure
  pairs(): number
}

type Optional<T> = { readonly [Name in keyof T]?: T[Name] }

/** A policy as it was read; what is not there was not said. */
export type NativePolicy = Optional<RateLimitPolicy>

/** The exports of the addon. */
interface Native {
  /** Shared with the addon for as long as the process lives; read it before anything else can be called. */
  readonly callBuffer: Float64Array
  /** Shared as well: nearly every answer, in integers of 32 bits. */
  readonly fastBuffer: Int32Array
  /** Charges one unit now, of the limiter and the limit in {@link callBuffer}, and leaves the answer. */
  limit(actor: unknown): Failure | undefined
  /** Decides the one check that {@link callBuffer} describes, and leaves the answer there. */
  decide(actor: unknown): Failure | undefined
  /** Decides the few checks that {@link callBuffer} describes, of one actor or of one each, and leaves the answer there. */
  decideFew(...actors: readonly unknown[]): Failure | undefined
  /** Asks a shared store for the one check that {@link callBuffer} describes: the answer is there, or yet to come. */
  ask(actor: unknown): Failure | undefined
  decideSeveral(buffer: Float64Array, actors: readonly unknown[], spent?: Spent): Failure | null
  explainSeveral(buffer: Float64Array, actors: readonly unknown[]): string | Failure
  openQueue(wake: () => void): { queue: number; buffer: Float64Array }
  endIteration(): void
  drainQueue(queue: number, receive: (count: number, beside?: readonly never[]) => void): void
  askSeveral(buffer: Float64Array, actors: readonly unknown[], spent?: Spent): Failure | null
  askWhy(buffer: Float64Array, actors: readonly unknown[]): Failure | null
  startAcquire(buffer: Float64Array, actors: readonly unknown[]): number | Failure
  cancelAcquire(queue: number, handle: number): boolean
  freeAcquire(handle: number): void
  startSteps(buffer: Float64Array, actors: readonly unknown[]): number | Failure
  nextStep(steps: number, buffer: Float64Array): number | Failure
  rungSteps(): number[]
  freeSteps(steps: number): void
  makeLimiter(
    queue: number | undefined,
    listener: number,
    url: unknown,
    names: readonly string[],
    values: readonly unknown[],
  ): number | Failure
  startPing(limiter: number, queue: number, call: number): Failure | null
  startClear(limiter: number, queue: number, call: number): Failure | null
  stats(limiter: number): Statistics | Failure
  metrics(limiter: number): Numbers[] | Failure
  top(limiter: number, count: number | undefined): TopActors | Failure
  freeLimiter(limiter: number): void
  entries(limiter: number): number | Failure
  evictions(limiter: number): number | Failure
  overflowed(limiter: number): number | Failure
  makeLimit(names: readonly string[], values: readonly unknown[]): number | Failure
  parseLimit(key: unknown, text: unknown): Made | Failure
  parseLimits(key: unknown, text: unknown): Made[] | Failure
  loadLimits(path: unknown): NativeDocument | DocumentFailure | Failure
  readLimits(text: unknown, format: unknown): NativeDocument | DocumentFailure | Failure
  limitsFromEntries(
    names: readonly string[],
    values: readonly unknown[],
    counts: readonly number[],
  ): NativeDocument | DocumentFailure | Failure
  watchLimits(source: unknown, every: number): Promise<NativeWatched | DocumentFailure | Failure>
  explainLimit(limit: number, factor: number): { json: string; text: string } | Failure
  heldOf(limits: readonly number[], ofAnswer: boolean): number[] | Failure
  spentOfHold(
    limits: readonly number[],
    costs: readonly number[],
    taken: Spent,
    names: readonly string[] | undefined,
  ): number[] | Failure
  jsonSchema(): string
  /** Runs the command with the arguments behind its name, and returns its exit code. */
  runCommand(commandLine: readonly string[]): number
  freeLimit(limit: number): void
  headers(
    buffer: Float64Array,
    keys: readonly string[],
    costs: readonly number[],
    kind: unknown,
    draft: unknown,
    reset: unknown,
  ): string[] | Failure
  makeGate(names: readonly string[], values: readonly unknown[]): NativeGate | Failure
  gateOptions(): string[]
  mistakes(): string[]
  mistakePage(code: string): string
  forgetMistakes(): void
  combine(
    limits: readonly number[],
    actors: readonly string[],
    costs: readonly number[],
    factors: readonly number[],
  ): number[] | Failure
  makePlan(
    limits: readonly number[],
    actors: readonly string[],
    costs: readonly number[],
    factors: readonly number[],
    places: readonly number[],
    roles: readonly number[],
  ): NativePlan | Failure
  makeCounted(): NativeCounted
  /** True if the units of a limit are held until they are released. */
  holds(limit: number): boolean
  makeOutgoing(
    limits: readonly number[],
    names: readonly string[],
    values: readonly unknown[],
  ): NativeOutgoing | Failure
  outgoingOptions(): string[]
  stopLimit(): Made
  parseHeaders(
    names: readonly string[],
    values: readonly string[],
    now: number,
  ): (Optional<Omit<RateLimits, 'policies'>> & { policies: NativePolicy[] }) | Failure
  checkActor(actor: string): Failure | null
  servingThreads(): number
  hint(name: string, known: readonly string[]): string
  clientOf(address: string, ipv6Prefix: unknown): string | Failure
  keyOf(key: string): string
  template(path: string, syntax: 'braces' | 'angles' | 'colons'): string | Failure
  routeName(methods: readonly string[], template: string): string
  appName(): string
  candidateEnd(): string
  makeNames(): NativeNames
  makeTrialCounts(): NativeTrialCounts
  requestError(field: string, value: string): RequestErrorName | null
  requestErrorParts(name: RequestErrorName): { status: number; detail: string } | Failure
  makeDenials(): NativeDenials
  makeEstimator(percentile: number, window: number, least: number, pairs: number): NativeEstimator | Failure
  usagePlaces(): string[]
  usageFields(): string[]
  /** The tokens by counts and the names of their fields. */
  usageOf(
    fields: readonly string[],
    counts: readonly number[],
  ): { input: number; output: number; cached: number; total: number } | null
  refuse(outOfRange: boolean, key: string, field: string, problem: string, value: unknown): Failure
}

/** The package for this platform if it is installed, else the addon that was built beside this folder. */
function load(): Native {
  if (typeof __filename === 'undefined') throw new Error(`tidegate was bundled: ${AS_EXTERNAL}`)
  const load = createRequire(__filename)
  const name = platformName()
  try {
    return load(`@tidegate/${name}`) as Native
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw refused(name, error)
  }
  try {
    return load(join(__dirname, '..', `tidegate.${name}.node`)) as Native
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw refused(name, cause)
    const help = `install @tidegate/${name} (npm leaves it out with --omit=optional, or where a lock file was made on another platform), or build from source; in a bundle, ${AS_EXTERNAL}`
    throw new Error(`tidegate has no addon for ${name}: ${help}`, { cause })
  }
}

/** The error for an addon that is installed, but that the runtime refuses: no right to load it, or another C library. */
function refused(name: string, cause: unknown): Error {
  const { code, message } = cause as NodeJS.ErrnoException
  const disabled = 'run Node without --no-addons, and with --allow-addons where --permission restricts it'
  const help = code === 'ERR_DLOPEN_DISABLED' ? `: ${disabled}` : ''
  return new Error(`tidegate's addon for ${name} cannot be loaded: ${message.replace(/\.$/, '')}${help}`, { cause })
}

const AS_EXTERNAL = 'mark "tidegate" as external (https://github.com/tidegate/tidegate/blob/main/docs/bundling.md)'

/**
 * Never called, and there is no such file: a bundler that follows it fails when it builds, and shows its name, where
 * otherwise the bundle would fail when it runs.
 *
 * @internal
 */
export const inBundle = (): unknown => require('./mark-tidegate-as-external.node')

export const native = load()
