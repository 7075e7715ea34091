import { outOfRange } from '../errors.js'
import { Checked, fieldsOf, type Limit } from './definition-cache.js'
import type { Definition } from './definitions.js'

/** A definition's fields where the function says the type. */
export type Fields<D extends Definition> = Omit<D, 'type'> & { readonly type?: D['type'] }

/** Checks a definition of this type. */
export function define<D extends Definition>(type: D['type'], fields: unknown): Limit<D> {
  const [names, values] = fieldsOf(fields)
  const given = names.indexOf('type')
  if (given < 0) {
    if (type !== undefined) {
      names.push('type')
      values.push(type)
    }
  } else if (values[given] !== type) {
    const key = values[names.indexOf('key')]
    const problem = type === undefined ? 'must not be given' : `must be ${JSON.stringify(type)}`
    throw outOfRange(typeof key === 'string' ? key : '', 'type', problem, values[given])
  }
  return new Checked(names, values) as unknown as Limit<D>
}
