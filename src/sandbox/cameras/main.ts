import { parseArgs } from 'node:util';
import { lineCommands } from '../lines.ts';
import { orUsage } from '../usage.ts';
import { startCamera } from './camera.ts';

const usage = `One simulated camera as a process. It prints {"url":...} when it is ready, then takes a command a line:
  motion|person|tamper on|off, reboot MS, stop, start, password VARIABLE, counts, quit

  --host ADDRESS           where it listens: 127.0.0.1
  --port NUMBER            a free one where it is 0, as without it
  --id ID                  its name: camera-1
  --username NAME          the user who may ask it: siteward
  --password-env VARIABLE  environment variable with the password; without it that is camera-password
  --auth KIND              how it wants the password: wsse, digest, both or none; both
  --skew-ms NUMBER         how far its clock is ahead: 0`;

const { values } = orUsage(usage, () =>
  parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '0' },
      id: { type: 'string', default: 'camera-1' },
      username: { type: 'string', default: 'siteward' },
      'password-env': { type: 'string' },
      auth: { type: 'string', default: 'both' },
      'skew-ms': { type: 'string', default: '0' },
    },
  }),
);

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
