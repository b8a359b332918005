import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StatusDocument } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ { id: p1, name: Shop } ]
supervision: { cameras: { report_after: 0s } }
speakers:
  - { id: gate, driver: capture }
  - { id: yard, driver: command, command: [there-is-no-such-program] }
  - { id: attic, driver: "null", enabled: false }
`,
  });
}, 120_000);
afterAll(() => site?.close());

test('siteward status shows the speakers in use, with what is wrong, which is a trouble and an event', async () => {
  const shown = await eventually('the speakers', async () => {
    const { speakers = [], troubles } = (await site.api('/api/v1/status')) as StatusDocument;
    return troubles.length > 0 && speakers.every(({ up }) => up !== null) ? { speakers, troubles } : undefined;
  });
  expect(shown).toMatchObject({
    speakers: [
      { kind: 'speaker', id: 'gate', up: true },
      { kind: 'speaker', id: 'yard', up: false, reason: 'there is no program there-is-no-such-program' },
    ],
    troubles: [{ kind: 'device_offline', device: 'speaker yard' }],
  });
  const { out } = await siteward(['status', '--socket', site.socket]);
  expect(out).toMatch(/^speakers\n {2}gate +up *\n {2}yard +DOWN +there is no program there-is-no-such-program$/m);
  expect(out).toMatch(/^ {2}audio +degraded +speaker yard: there is no program/m);
  const events = await site.history();
  expect(events.map(({ event }) => event)).toContainEqual(
    expect.objectContaining({ class: 'trouble', kind: 'device_offline', source: 'speaker:yard' }),
  );
});
