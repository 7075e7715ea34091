#!/usr/bin/env node
import { native } from './native/native.js'

process.exitCode = native.runCommand(process.argv.slice(2))
