/** Adds one user to the book in a folder, as a process of its own that can be ended at any step: DIR ID CODE. */
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { createUsers } from '#site/users/index.ts';

const [dir = '', id = '', code = ''] = process.argv.slice(2);
const users = createUsers({
  dir,
  configured: [],
  timezone: () => 'Europe/Berlin',
  clock: systemClock(),
  quality: () => 'synced',
  metrics: new Registry(),
});
await users.start(new AbortController().signal);
await users.add({ id, name: `Name of ${id}`, role: 'user', code }, 'test');
process.stdout.write('added\n');
