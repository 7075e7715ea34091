/** The scenarios under every framework. */

import { apps } from './apps.mjs'
import { playAll } from './playing.mjs'

playAll(apps)
