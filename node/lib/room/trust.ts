/** How an app's framework reads addresses: it believes nobody, every proxy, or some. */
export type Trust = 'nobody' | 'everybody' | 'some'

/** More addresses than any app has proxies, of a network that is for documentation alone. */
export const PROXIES: readonly string[] = Array.from({ length: 64 }, (_, host) => `192.0.2.${host + 1}`)
