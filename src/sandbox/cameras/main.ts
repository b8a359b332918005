import { parseArgs } from 'node:util';
import { lineCommands } from '../lines.ts';
import { startCamera } from './camera.ts';

/**
 * One simulated camera as a process: prints `{"url":...}` when it is ready, then takes line commands:
 * `motion|person|tamper on|off`, `reboot MS`, `stop`, `start`, `password VARIABLE`, `counts`, `quit`.
 */
const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    id: { type: 'string', default: 'camera-1' },
    username: { type: 'string', default: 'siteward' },
    /** Name of the environment variable that holds the password. */
    'password-env': { type: 'string' },
    auth: { type: 'string', default: 'both' },
    'skew-ms': { type: 'string', default: '0' },
  },
});

const auth = (['wsse', 'digest', 'both', 'none'] as const).find((mode) => mode === values.auth) ?? 'both';
const secret = (variable: string | undefined) => process.env[variable ?? ''] ?? 'camera-password';

const camera = await startCamera({
  host: values.host,
  port: Number(values.port),
  id: values.id,
  username: values.username,
  password: secret(values['password-env']),
  auth,
  clockSkewMs: Number(values['skew-ms']),
});

await lineCommands({
  ready: { url: camera.url, device_url: camera.deviceUrl, id: camera.id },
  commands: {
    motion: (word) => camera.motion(word === 'on'),
    person: (word) => camera.person(word === 'on'),
    tamper: (word) => camera.tamper(word === 'on'),
    reboot: (ms) => camera.reboot(Number(ms ?? 2000)),
    stop: () => camera.stop(),
    start: () => camera.start(),
    password: (variable) => camera.setPassword(secret(variable)),
    counts: () => ({ counts: camera.counts(), subscriptions: camera.openSubscriptions }),
  },
});
await camera.close();
