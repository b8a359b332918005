import { afterEach, expect, it } from 'vitest';
import { askSocket } from '../harness/control.ts';
import { type Rig, startRig } from './rig.ts';
import { pressButton } from './silent.ts';

/** Safety 4: what is gathered for a search of a fault, and the log, are the same whether somebody called for help or not. */

const partitions = 'partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]\n';
const sections = `panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
      "1": { type: perimeter, name: Window, key: window, partition: p1 }
      "2": { type: panic_silent, name: Button, key: button, partition: p1 }
log: { level: trace }
`;

let site: Rig | undefined;
afterEach(() => site?.close());

interface Bundle {
  readonly missing: object;
  readonly parts: Readonly<Record<string, unknown>>;
}

const bundleOf = async ({ socket }: Rig): Promise<Bundle> =>
  (await askSocket(socket, 'POST', '/api/v1/support-bundle')).body;

/** Without what moves with the time, the load of the machine, its disk and the questions themselves. */
function still({ parts: { metrics, log, audit, versions: _, ...parts } }: Bundle): unknown {
  const text = JSON.stringify(parts, (key, value) =>
    /^(uptime_s|at|now|since|last|lastCommit|queued|queuedBytes|queueBytes|free_bytes)$/.test(key) ? null : value,
  );
  const lines = (log as { level: string; msg: string }[]).map(({ level, msg }) => `${level} ${msg}`);
  const counted = String(metrics)
    .split('\n')
    .filter(
      (line) =>
        // Ticks come every ten seconds, whatever happens.
        !/^(#|$)|kind="tick"|^siteward_(process|nodejs|store_(queue|commit|free)|control_|mqtt_published)/.test(line),
    )
    .map((line) => line.replace(/(age_seconds\S*|wall\S*) .*/, '$1'));
  return { text, lines, counted, broken: (audit as { broken: unknown }).broken };
}
const entriesOf = ({ parts }: Bundle): number => (parts.audit as { entries: number }).entries;

it('says the same before and after a silent call for help', { timeout: 120_000 }, async () => {
  site = await startRig({ cloud: false, partitions, sections });
  const { lan } = site;
  await lan.publish('zigbee2mqtt/button', '{"contact":true}');
  await lan.publish('zigbee2mqtt/window', '{"contact":true}');
  await lan.shows('zone/1/state', 'OFF');
  const before = await bundleOf(site);
  const quiet = await bundleOf(site);
  await pressButton(site, 1);
  const after = await bundleOf(site);
  expect(before.missing).toEqual({});
  expect(still(quiet)).toEqual(still(before));
  expect(still(after)).toEqual(still(quiet));
  // Each bundle is an entry itself.
  expect(entriesOf(after) - entriesOf(quiet)).toBe(entriesOf(quiet) - entriesOf(before));
  expect(JSON.stringify(after)).not.toMatch(/panic_silent|Button|"2"/);
});
