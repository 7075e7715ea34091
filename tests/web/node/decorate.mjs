/** Decorators without their syntax. */
export function decorate(target, method, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, method)
  for (const one of decorators) one(target.prototype, method, descriptor)
}
