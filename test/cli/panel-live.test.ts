import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Field, live, startField } from './panel-rig.ts';
import { siteward } from './run-cli.ts';

const passwd = existsSync('/usr/bin/mosquitto_passwd');
const kinds = ['embedded', 'mosquitto'] as const;

for (const kind of kinds) {
  describe.skipIf(kind === 'mosquitto' && !passwd)(
    `on ${kind === 'embedded' ? kind : 'a mosquitto with a password'}`,
    () => {
      let field: Field;
      const panels = `panels:
  - id: main
    profile: dsc-keybus
    zones: { "7": { type: entry_exit_1, name: Front door } }
`;
      beforeAll(async () => {
        field = await startField(kind);
        field.configure(panels);
      });
      afterAll(() => field?.close());
      const run = (verb: string, ...args: string[]) => siteward(['panel', verb, ...args, '--config', field.config]);

      test('watch shows time, topic, payload and meaning with the site’s numbers, and ends cleanly at Ctrl-C', async () => {
        await field.publish('dsc/Status', 'online', true);
        const watch = live(['panel', 'watch', '--config', field.config]);
        await watch.says('dsc/Status  online (retained)  ->  link bridge: up, online');
        await field.publish('dsc/Get/Zone7', '1');
        await field.publish('dsc/Get/Zone9', '0');
        await field.publish('dsc/Get/Partition1', 'pending');
        await field.publish('dsc/Get/Partition1', 'dreaming');
        await watch.says('unknown value of partition.state: dreaming');
        watch.child.kill('SIGINT');
        expect(await watch.ended).toBe(0);
        expect(watch.out()).toMatch(
          /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}dsc\/Get\/Zone7 {2}1 {2}-> {2}zone 7: open {2}\[our zone 7 \(entry_exit_1\)\]$/m,
        );
        expect(watch.out()).toContain('zone 9: closed  [zone 9 is not configured]');
        expect(watch.out()).toContain('pending  ->  partition 1: arming  [our partition p1]');
        expect(watch.err()).toContain('4 understood, 1 not (80%)');
      });

      test('watch shows and records nothing of a silent hold-up, also when only its profile is named', async () => {
        field.configure(`panels:
  - id: zb
    profile: zigbee2mqtt
    zones: { "1": { type: perimeter, key: window }, "2": { type: panic_silent, key: button } }
`);
        for (const [nth, more] of [[], ['--profile', 'zigbee2mqtt']].entries()) {
          const file = join(field.folder, `hushed-${nth}.jsonl`);
          const watch = live(['panel', 'watch', '--json', '--record', file, ...more, '--config', field.config]);
          await watch.says('listening to');
          await field.publish('zigbee2mqtt/button', '{"contact":false}');
          await field.publish('zigbee2mqtt/button', '{"contact":"pressed"}');
          await field.publish('zigbee2mqtt/window', '{"contact":false}');
          await watch.says('zone window: open');
          watch.child.kill('SIGINT');
          expect(await watch.ended).toBe(0);
          const lines = watch
            .out()
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line));
          expect(lines).toMatchObject([
            {
              kind: 'message',
              topic: 'zigbee2mqtt/window',
              raw: '{"contact":false}',
              verdict: 'understood',
              readings: [{ zone: 'window', open: true }],
              site: nth === 0 ? ['our zone 1 (perimeter)'] : [],
            },
            { kind: 'summary', matched: 1, understood: 1, not_understood: 0 },
          ]);
          for (const shown of [readFileSync(file, 'utf8'), watch.out(), watch.err()])
            expect(shown).not.toContain('button');
        }
        field.configure(panels);
      });

      test('watch records what it heard without codes, and try reads the recording', async () => {
        const file = join(field.folder, 'heard.jsonl');
        const watch = live(['panel', 'watch', '--profile', 'zigbee2mqtt', '--record', file, '--config', field.config], {
          HOME: field.folder,
        });
        await watch.says('listening to');
        await field.publish('zigbee2mqtt/keypad', '{"action":"disarm","action_code":"48270391"}');
        await field.publish('zigbee2mqtt/door', '{"contact":false,"pin":"48270391"}');
        await watch.says('zone door: open');
        watch.child.kill('SIGTERM');
        expect(await watch.ended).toBe(0);
        const text = readFileSync(file, 'utf8');
        for (const shown of [text, watch.out(), watch.err()]) expect(shown).not.toContain('48270391');
        expect(statSync(file).mode & 0o777).toBe(0o600);
        const tried = await run('try', 'zigbee2mqtt', '--replay', file);
        expect(tried).toMatchObject({ code: 0, out: expect.stringContaining('2 understood, 0 not (100%)') });
        const again = await run('watch', '--profile', 'zigbee2mqtt', '--record', file);
        expect(again).toMatchObject({ code: 1, err: expect.stringContaining('is there already; name another file') });
      });

      test('learn finds the profile and its base topic, and prints what the configuration accepts', async () => {
        // Five levels deep on the embedded broker, which refuses filters for every topic of that depth.
        const base = kind === 'embedded' ? 'px' : 'house/px';
        const said: readonly (readonly [string, string])[] = [
          [`${base}/interface/availability`, 'online'],
          [`${base}/states/partitions/Shop/current_state`, 'disarmed'],
          [`${base}/states/zones/Back_door/open`, 'False'],
          [`${base}/states/zones/Window_2/tamper`, 'False'],
          ['weather/roof', '{"temperature":21}'],
        ];
        for (const [topic, payload] of said) await field.publish(topic, payload, true);
        const ran = await run('learn', '--seconds', '3', '--json');
        expect(ran.code, ran.err).toBe(0);
        const document = JSON.parse(ran.out);
        const best = document.profiles[0];
        expect(best).toMatchObject({ id: 'pai', vars: { b: base }, share: 1, weak: false, understood: 4 });
        const file = join(field.folder, 'pasted.yaml');
        const readable = await run('learn', '--seconds', '3');
        expect(readable.out).toMatch(new RegExp(`^pai +4 of 4 +100% +4 +b=${base} `, 'm'));
        expect(readable.out).toContain(`--profile pai --var b=${base}`);
        // Zone 7 lives in p1 already, so the panel gets a partition of its own, and zone 7 has to say where it belongs.
        expect(readable.out).toContain('add "partition: p1" to zone 7.');
        const pasted = parse(/^partitions:\n(?: .*\n)+panels:\n(?: .*\n)+/m.exec(readable.out)?.[0] ?? '');
        expect(pasted).toMatchObject({ partitions: [{ id: 'p2', name: 'Shop' }], panels: [{ id: 'pai' }] });
        const before = parse(readFileSync(field.config, 'utf8'));
        before.panels[0].zones['7'].partition = 'p1';
        const partitions = [...before.partitions, ...pasted.partitions];
        const panels = [...before.panels, ...pasted.panels];
        writeFileSync(file, stringify({ ...before, partitions, panels }));
        expect(await siteward(['check', file])).toMatchObject({ code: 0 });
        for (const [topic] of said) await field.publish(topic, '', true);
      });

      test('learn under a flood of topics and values stays small and still finds the panel', async () => {
        const learn = live(['panel', 'learn', '--seconds', '12', '--json', '--config', field.config]);
        await learn.says('listening on');
        const client = await field.client();
        for (let i = 0; i < 6000; i += 1) {
          client.publish(`flood/${i}`, String(i));
          client.publish('flood/storm', `{"n":${i},"pin":"48270391"}`);
          if (i % 200 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
        }
        await field.publish('dsc/Status', 'online');
        for (const zone of [1, 2, 3]) await field.publish(`dsc/Get/Zone${zone}`, '0');
        await field.publish('dsc/Get/Partition1', 'disarmed');
        const status = readFileSync(`/proc/${learn.child.pid}/status`, 'utf8');
        expect(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(400_000);
        expect(await learn.ended).toBe(0);
        const document = JSON.parse(learn.out());
        expect(document.profiles[0]).toMatchObject({ id: 'dsc-keybus', weak: false });
        expect(document.not_looked_at).toBeGreaterThan(1000);
        expect(learn.out() + learn.err()).not.toContain('48270391');
      });

      test('watch under a flood prints few lines and says how many it left out', async () => {
        const watch = live(['panel', 'watch', '--profile', 'dsc-keybus', '--config', field.config]);
        await watch.says('listening to');
        const client = await field.client();
        for (let i = 0; i < 3000; i += 1) client.publish('dsc/Get/Zone1', String(i % 2));
        await watch.says(/more messages were counted and not shown/);
        watch.child.kill('SIGINT');
        expect(await watch.ended).toBe(0);
        expect(watch.out().split('\n').length).toBeLessThan(1000);
      });

      test('learn says what to do when nothing is heard, or nothing is understood, or too little', async () => {
        await field.publish('dsc/Status', '', true);
        const silent = await run('learn', '--seconds', '1', '--broker', field.broker.url);
        expect(silent).toMatchObject({
          code: 1,
          out: expect.stringContaining('Is the bridge connected to this broker'),
        });
        await field.publish('weather/roof', 'fine', true);
        const strange = await run('learn', '--seconds', '2');
        expect(strange).toMatchObject({ code: 1, out: expect.stringContaining('siteward panel new') });
        await field.publish('dsc/Status', 'online', true);
        const little = await run('learn', '--seconds', '2');
        expect(little).toMatchObject({ code: 0, out: expect.stringContaining('dsc-keybus is a weak guess') });
      });
    },
  );
}

describe.skipIf(!passwd)('the broker of a panel', () => {
  let field: Field;
  beforeAll(async () => {
    field = await startField('mosquitto');
  });
  afterAll(() => field?.close());

  test('that is lost is told, and taken up again', async () => {
    const watch = live(['panel', 'watch', '--profile', 'dsc-keybus', '--config', field.config]);
    await watch.says('listening to');
    await field.broker.restart();
    await watch.says('the broker is lost');
    await watch.says('the broker is back');
    await field.publish('dsc/Get/Zone3', '1');
    await watch.says('zone 3: open');
    watch.child.kill('SIGINT');
    expect(await watch.ended).toBe(0);
  });

  test('that refuses the password ends with 77, and one that is not there with 69; both say what to do', async () => {
    const env = { SITEWARD_MQTT_USERNAME: 'siteward', SITEWARD_MQTT_PASSWORD: 'not-the-password' };
    const args = ['panel', 'learn', '--seconds', '5', '--config', field.config];
    const refused = await siteward(args, env);
    expect(refused).toMatchObject({ code: 77, err: expect.stringContaining('does not accept the user "siteward"') });
    expect(refused.err).not.toContain('not-the-password');
    const anonymous = await siteward(['panel', 'learn', '--broker', field.broker.url, '--config', '/nowhere.yaml']);
    expect(anonymous).toMatchObject({ code: 77, err: expect.stringContaining('SITEWARD_MQTT_PASSWORD') });
    const gone = await siteward(['panel', 'learn', '--broker', 'mqtt://127.0.0.1:9', '--config', '/nowhere.yaml']);
    expect(gone).toMatchObject({ code: 69, err: expect.stringContaining('check address and port') });
  });

  test('takes name and password from the environment for a broker that is not in the configuration', async () => {
    const env = { SITEWARD_MQTT_USERNAME: 'siteward', SITEWARD_MQTT_PASSWORD: 'broker-password' };
    await field.publish('dsc/Get/Zone3', '1', true);
    await field.publish('dsc/Get/Partition1', 'disarmed', true);
    const args = ['panel', 'learn', '--seconds', '2', '--broker', field.broker.url, '--config', '/nowhere.yaml'];
    expect(await siteward(args, env)).toMatchObject({ code: 0, out: expect.stringContaining('dsc-keybus') });
  });

  test('is never named with a password on the command line', async () => {
    const ran = await siteward(['panel', 'watch', '--broker', 'mqtt://me:hunter2@127.0.0.1:1883']);
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('SITEWARD_MQTT_PASSWORD') });
    expect(ran.err).not.toContain('hunter2');
  });

  test('without a panel to watch, watch says where to look', async () => {
    const ran = await siteward(['panel', 'watch', '--config', field.config]);
    expect(ran).toMatchObject({ code: 78, err: expect.stringContaining('siteward panel learn') });
    const other = await siteward(['panel', 'watch', '--panel', 'east', '--config', field.config]);
    expect(other).toMatchObject({ code: 78, err: expect.stringContaining('has no panel east') });
    const calling = `${field.config}.calling.yaml`;
    const caller = '{ id: west, profile: sia-dc09, dc09: { account: "1234" } }';
    writeFileSync(
      calling,
      `${readFileSync(field.config, 'utf8')}\ndc09: { listen: "127.0.0.1:5010" }\npanels: [ ${caller} ]\n`,
    );
    const west = await siteward(['panel', 'watch', '--panel', 'west', '--config', calling]);
    expect(west).toMatchObject({ code: 78, err: expect.stringContaining('reports by SIA DC-09') });
  });
});
