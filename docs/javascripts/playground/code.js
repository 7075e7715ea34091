// A limit as code in the three languages.

;(() => {
  const { lean, textOf } = playground
  const quoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

  /** A value in Python. */
  const python = (value) => (typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value))
  const fields = (limit, write) =>
    Object.entries(lean(limit))
      .map(([name, value]) => write(name, value))
      .join(', ')

  /** By language: a program that makes a call of the limit. */
  const CODE = {
    Python(limit) {
      const text = textOf(limit)
      const made = text.startsWith('{')
        ? `Limit.from_dict({"key": "api", ${fields(limit, (name, value) => `"${name}": ${python(value)}`)}})`
        : `Limit.parse("api", "${text}")`
      return `from tidegate import Limit, Limiter

API = ${made}
limiter = Limiter()

info = limiter.limit(API, "ada")
print(info.allowed, info.remaining, info.headers())
`
    },
    Node(limit) {
      const text = textOf(limit)
      const [name, made] = text.startsWith('{')
        ? [
            'limitFrom',
            `limitFrom({ key: 'api', ${fields(limit, (name, value) => `${name}: ${typeof value === 'string' ? quoted(value) : value}`)} })`,
          ]
        : ['parseLimit', `parseLimit('api', '${text}')`]
      return `import { Limiter, ${name} } from 'tidegate'

const api = ${made}
const limiter = new Limiter()

const info = await limiter.limit(api, 'ada')
console.log(info.allowed, info.remaining, info.headers())
`
    },
    Rust(limit) {
      const text = textOf(limit)
      const made = text.startsWith('{')
        ? `Limit::from_json(r#"${JSON.stringify({ key: 'api', ...lean(limit) })}"#)?`
        : `Limit::parse("api", "${text}")?`
      return `use tidegate::{Limit, Limiter, Memory};

let api = ${made};
let limiter = Limiter::new(Memory::new());

let info = limiter.limit_sync(&api, "ada")?;
println!("{} {}", info.allowed(), info.remaining);
`
    },
  }

  Object.assign(playground, { CODE })
})()
