// The time that an import takes, in milliseconds.
const begun = performance.now()
await import('tidegate')
console.log((performance.now() - begun).toFixed(1))
