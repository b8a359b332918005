import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { onTerminal } from './on-terminal.ts';
import { siteward } from './run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'siteward-words-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const config = join(folder, 'siteward.yaml');
const args = (...more: string[]) => ['setup', '--config', config, ...more];
/** A site of its own, over which no daemon runs. */
function begin(): void {
  writeFileSync(
    config,
    `site: { id: "1", external_id: shop-1, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Shop } ]
http: { control_socket: ${join(folder, 'control.sock')} }
store: { dir: ${join(folder, 'state')} }
`,
  );
}

test('what a person has put off is asked again, whatever ran without a person meanwhile', async () => {
  begin();
  const only = args('--only', 'panels', '--only', 'recorders');
  const first = await onTerminal(only, [
    ['profile of the panel', 'later'],
    ['address of a recorder', 'later'],
    ['file for the commissioning report', ''],
  ]);
  expect(first.shown.match(/open: put off/g)).toHaveLength(2);
  for (const more of [[], ['--non-interactive', '--json']]) {
    const alone = await siteward([...only, ...more]);
    expect(alone.code).toBe(1);
    expect(alone.out.match(/put off/g)).toHaveLength(2);
  }
  const again = await onTerminal(only, [
    ['profile of the panel', 'skip'],
    ['address of a recorder', 'later'],
    ['file for the commissioning report', ''],
  ]);
  expect(again.shown).toContain('left out: not wanted');
  // What is left out since is not put off any longer.
  await siteward(only);
  const { steps } = JSON.parse(readFileSync(join(folder, 'state', 'setup.json'), 'utf8'));
  expect(steps).toMatchObject({ panels: { state: 'skipped' }, recorders: { state: 'later' } });
}, 120_000);

test('a report that cannot be written is said to be none, and why', async () => {
  const report = join(folder, 'report.html');
  const none = join(folder, 'none.yaml');
  const open = await siteward(['setup', '--config', none, '--report', report, '--non-interactive']);
  expect(open).toMatchObject({ code: 1, out: expect.stringContaining(`no report is written to ${report}: there is`) });
  expect(open.out).toContain(`before ${none} is begun`);
  begin();
  const dry = await siteward(args('--report', report, '--dry-run', '--only', 'site'));
  expect(dry.out).toContain(`no report is written to ${report}: a dry run`);
  expect(existsSync(report)).toBe(false);
  // Nobody is asked for the name of one.
  const asked = await onTerminal(['setup', '--config', none], [['your own id of the site', 'later']]);
  expect(asked.shown).not.toContain('file for the commissioning report');
}, 120_000);

test('help at a question is about that question', async () => {
  const none = join(folder, 'none.yaml');
  const { shown } = await onTerminal(
    ['setup', '--config', none],
    [
      ['your own id of the site', 'help'],
      ['This question: it becomes part of the MQTT topics', 'shop-1'],
      ['time zone of the site', 'help'],
      ['This question: schedules and reports go by it', 'Europe/Berlin'],
      ['name of the site', ''],
      ['id of this box', ''],
      ['name of its first partition', ''],
      // Of one without a line of its own, what its check would say.
      ['do it now', 'help'],
      ['This question: yes does it', 'later'],
    ],
  );
  expect(shown.match(/This is the step "Site and box"/g)).toHaveLength(3);
  expect(existsSync(none)).toBe(false);
}, 60_000);

test('where no configuration can be begun that is said before anything is asked', async () => {
  const config = join(folder, 'none', 'siteward.yaml');
  const { code, shown } = await onTerminal(['setup', '--config', config], []);
  expect(code).not.toBe(0);
  expect(shown).toContain(`${config} cannot be begun: ${join(folder, 'none')} cannot be used`);
  expect(shown).not.toContain('your own id of the site');
});
