import { createKeeping } from '#lan/access/keeping.ts';
import { systemClock } from '#lib/clock.ts';

/** Puts the owner `olga` into the file of accounts of a folder; ended by SITEWARD_CRASH_AT on the way. */
const keeping = createKeeping({ dir: process.argv[2] ?? '', clock: systemClock() });
await keeping.read();
const at = '2026-11-27T20:00:00.000Z';
const password = { salt: 'B'.repeat(22), hash: `${'B'.repeat(42)}A` };
const person = { name: 'Olga', role: 'owner', createdAt: at, createdBy: 'claim', acceptedAt: at, password } as const;
await keeping.change(({ claim: _, ...book }) => ({ ...book, handedOver: at, people: [{ id: 'olga', ...person }] }));
process.stdout.write('added\n');
