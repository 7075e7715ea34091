/** The addresses that an app's framework believes: nobody's, every proxy's, or those of some. */
export type Trust = 'nobody' | 'everybody' | 'some'

/** More addresses than any app has proxies, of a network that is for documentation alone. */
export const PROXIES: readonly string[] = Array.from({ length: 64 }, (_, host) => `192.0.2.${host + 1}`)
