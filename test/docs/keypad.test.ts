import { afterEach, describe, expect, test } from 'vitest';
import { type Running, startProcess } from '#sandbox/demo/processes.ts';
import { code, type Site, type SiteOptions, startSite } from '../harness/site.ts';
import { blocks, read } from './markdown.ts';

const program = blocks(read('docs/mqtt.md')).find(({ info }) => info === 'js keypad')?.text ?? '';
const password = 'keypad-password-of-a-test';
const yaml = () => 'partitions: [ { id: p1, name: Offices, exit_delay: 0s } ]\n';
const clients = 'clients: [ { id: keypad-1, role: keypad, password: { env: KEYPAD_PASSWORD } } ]';

test('the keypad has at most thirty lines of code', () => {
  const lines = program.split('\n').filter((line) => line.trim() !== '');
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.length).toBeLessThanOrEqual(30);
});

describe.each([
  { on: 'mosquitto', site: { broker: 'mosquitto', yaml }, login: {} },
  { on: 'the embedded broker, without a name', site: { broker: 'embedded', yaml }, login: {} },
  {
    on: 'the embedded broker, with a password',
    site: { broker: 'embedded', yaml, mqttYaml: `, ${clients}`, env: { KEYPAD_PASSWORD: password } },
    login: { PASSWORD: password },
  },
] as const satisfies readonly { on: string; site: SiteOptions; login: object }[])('the keypad on $on', (given) => {
  let site: Site;
  let keypad: Running;
  afterEach(async () => {
    await keypad?.stop();
    await site?.close();
  });

  test('shows the state, arms, is refused with a wrong code, disarms, and says when siteward is gone', async () => {
    site = await startSite(given.site);
    const env = { ...given.login, BROKER: site.mqttUrl, SITE: site.root.split('/')[2] ?? '' };
    // Found from the working directory, as on a technician's own machine.
    keypad = startProcess({ name: 'keypad', args: ['--input-type=module', '--eval', program], env });
    const isText = (text: string) => (line: string) => (line.trim() === text ? line : undefined);
    const says = (text: string) => keypad.until(isText(text), text);
    const typed = (line: string, answer: string) => keypad.ask(line, isText(answer), answer);
    await says('status online');
    await says('partition p1 state disarmed');
    await typed('arm away', 'done armed_away');
    await says('partition p1 state armed_away');
    await typed('disarm 0000', 'refused BAD_CODE');
    await typed(`disarm ${code}`, 'done disarmed');
    await site.daemon.stop();
    await says('status offline');
  });
});
