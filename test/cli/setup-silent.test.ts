import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

let site: Site;
beforeAll(async () => {
  site = await startSite({
    yaml: () => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Window, key: window, partition: p1 }
`,
  });
}, 60_000);
afterAll(() => site?.close());

const setup = (zone: string, ...more: readonly string[]) => {
  const answers = join(site.folder, 'answers.yaml');
  writeFileSync(answers, `site: { external_id: proof, timezone: Europe/Berlin }\nzones: [ ${zone} ]\n`);
  const only = ['panels', 'cameras', 'recorders', 'zones'].flatMap((id) => ['--only', id]);
  const where = ['--config', site.config, '--socket', site.socket, '--answers', answers];
  return siteward(['setup', ...where, ...only, '--non-interactive', '--json', ...more], { HARNESS_CODE: code });
};
const zonesStep = (out: string) =>
  out
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
    .find(({ step }) => step === 'zones');

test('a silent hold-up zone that is added alone is in force when the step is done', { timeout: 120_000 }, async () => {
  const ran = await setup(
    '{ panel: sensors, number: "9", type: panic_silent, name: Under the desk, key: desk, partition: p1 }',
  );
  expect(zonesStep(ran.out)).toMatchObject({ state: 'done', did: true });
  expect(readFileSync(site.config, 'utf8')).toContain('panic_silent');
  await site.lan.publish('zigbee2mqtt/desk', '{"contact":true}');
  await site.lan.publish('zigbee2mqtt/desk', '{"contact":false}');
  await eventually('the silent alarm reaches the cloud', async () => {
    const { events } = (await site.cloud.control('events')) as { events: { body: { payload: object } }[] };
    const isIt = ({ kind, zone }: { kind?: string; zone?: string }) => kind === 'panic_silent' && zone === '9';
    return events.some(({ body }) => isIt(body.payload)) ? true : undefined;
  });
});

test('what is printed, kept and reported of a silent hold-up zone is nothing, right or wrong', {
  timeout: 120_000,
}, async () => {
  const report = join(site.folder, 'report.html');
  const zone = (number: string, partition: string) =>
    `{ panel: sensors, number: "${number}", type: panic_silent, name: Under the bed, key: bed, partition: ${partition} }`;
  const kept = () => readFileSync(join(site.folder, 'state', 'setup.json'), 'utf8');
  for (const [answer, state, words] of [
    [zone('77', 'p1'), 'done', 'zones: 1'],
    [zone('88', 'p9'), 'failed', expect.stringMatching(/^the zones of the answers are not taken/)],
  ] as const) {
    rmSync(report, { force: true });
    const ran = await setup(answer, '--report', report);
    expect(zonesStep(ran.out)).toMatchObject({ state, words });
    const told = [ran.out, ran.err, kept(), readFileSync(report, 'utf8')];
    for (const text of told) expect(text).not.toMatch(/panic|zones\W+(77|88)|Under the|: (77|88)|added: none/);
  }
  expect(readFileSync(site.config, 'utf8')).toMatch(/"?77"?:/);
});
