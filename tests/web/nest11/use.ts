/** Uses the module with the types of NestJS 11; the compiler checks it, nobody runs it. */

import type { CanActivate, DynamicModule } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { RateLimit, type RateLimitException, SkipRateLimit, TidegateGuard, TidegateModule } from 'tidegate/nestjs'

const guard: new () => CanActivate = TidegateGuard
const module: DynamicModule = TidegateModule.forRootAsync({
  inject: ['limits'],
  useFactory: async (limits: string) => ({
    limits,
    getRequest: (context, found) => (context.getType() === 'rpc' ? context.switchToRpc().getContext() : found),
  }),
})

class Notes {
  @RateLimit({ limits: '5/minute', adds: true })
  list(): void {}

  @SkipRateLimit()
  health(): void {}
}

const app = await NestFactory.create(module)
const refusal = (exception: RateLimitException): number => exception.getStatus() + exception.extensions.retryAfter
console.log(app.get(TidegateGuard), guard, Notes, refusal)
// @ts-expect-error there is no such option
TidegateModule.forRoot({ max: 5 })
