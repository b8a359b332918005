import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Signal } from '#site/model/index.ts';
import { type Broker, startBroker, until } from './broker.ts';
import { panel, startPanels } from './helpers.ts';

const dsc = panel({
  id: 'main',
  profile: 'dsc-keybus',
  zones: { '7': { type: 'entry_exit_1' }, '8': { type: 'perimeter' } },
});

let broker: Broker;
beforeEach(async () => {
  // Without its limit of 20 in flight, so that ours is what bounds.
  broker = await startBroker(['max_inflight_messages 0']);
});
afterEach(() => broker.close());

const zonesOf = (signals: readonly Signal[]) =>
  signals.flatMap((signal) => (signal.kind === 'zone' ? [`${signal.zone} ${signal.open}`] : []));

/** Runs the child until `ready` sees what it waits for, then ends it as a power cut does. */
async function runAndKill(act: () => Promise<void>, ready: (out: string) => boolean): Promise<string> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./child.ts', import.meta.url)), broker.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  try {
    await until(() => out.includes('"listening"'), 'the child to listen');
    await act();
    await until(() => ready(out), 'the child to have the messages');
  } finally {
    child.kill('SIGKILL');
    await gone;
  }
  return out;
}

describe('acknowledging panel messages', () => {
  it('gets a message again that was received but not durable when the process was killed, and what came meanwhile', async () => {
    await runAndKill(
      async () => {
        await broker.publish('dsc/Get/Zone7', '1');
        await broker.publish('dsc/Get/Zone7', '0');
      },
      (out) => out.includes('"open":true') && out.includes('"open":false'),
    );
    await broker.publish('dsc/Get/Zone8', '1');

    const rig = await startPanels({ url: broker.url, panels: [dsc], siteSlug: 'kill' });
    await until(() => zonesOf(rig.signals).length >= 3, 'the redelivery');
    expect(zonesOf(rig.signals)).toEqual(['7 true', '7 false', '8 true']);
    expect(rig.signals.every((signal) => signal.kind !== 'zone' || !signal.replay)).toBe(true);
    await rig.stop();

    // They were acknowledged this time: nothing is left for the next start.
    const again = await startPanels({ url: broker.url, panels: [dsc], siteSlug: 'kill' });
    await until(() => again.panels.health().state === 'ok', 'the subscription');
    await broker.publish('dsc/Get/Zone8', '0');
    await until(() => zonesOf(again.signals).length > 0, 'the marker');
    expect(zonesOf(again.signals)).toEqual(['8 false']);
    await again.stop();
  });

  it('interprets messages behind one whose commit is slow, and acknowledges in order', async () => {
    const releases: (() => void)[] = [];
    const seen: Signal[] = [];
    const slow = (signals: readonly Signal[]) => {
      seen.push(...signals);
      return new Promise<void>((resolve) => releases.push(resolve));
    };
    const rig = await startPanels({ url: broker.url, panels: [dsc], siteSlug: 'slow', emit: slow });
    await until(() => rig.panels.health().state === 'ok', 'the subscription');
    for (const payload of ['1', '0', '1', '0']) await broker.publish('dsc/Get/Zone7', payload);
    await until(() => zonesOf(seen).length === 4, 'all four before the first is durable');
    // Only the second becomes durable: nothing may be acknowledged, since the first is not.
    releases[1]?.();
    await rig.stop();

    const again = await startPanels({ url: broker.url, panels: [dsc], siteSlug: 'slow' });
    await until(() => zonesOf(again.signals).length >= 4, 'the redelivery');
    expect(zonesOf(again.signals)).toEqual(['7 true', '7 false', '7 true', '7 false']);
    await again.stop();
  });

  it('gets a message again after emit rejected it', async () => {
    let failures = 1;
    const seen: Signal[] = [];
    const rig = await startPanels({
      url: broker.url,
      panels: [dsc],
      siteSlug: 'reject',
      emit: async (signals) => {
        if (signals.some((signal) => signal.kind === 'zone') && failures-- > 0) throw new Error('the disk said no');
        seen.push(...signals);
      },
    });
    await until(() => rig.panels.health().state === 'ok', 'the subscription');
    await broker.publish('dsc/Get/Zone7', '1');
    await until(() => zonesOf(seen).length > 0, 'the second delivery');
    expect(zonesOf(seen)).toEqual(['7 true']);
    expect(rig.logged()).toContain('the disk said no');
    await rig.stop();
  });

  it('reads thousands of messages behind a slow store, never more unfinished ones than its limit', async () => {
    const seen: Signal[] = [];
    let unfinished = 0;
    let most = 0;
    const rig = await startPanels({
      url: broker.url,
      panels: [dsc],
      siteSlug: 'many',
      emit: async (signals) => {
        seen.push(...signals);
        unfinished += 1;
        most = Math.max(most, unfinished);
        await new Promise((resolve) => setTimeout(resolve, 2));
        unfinished -= 1;
      },
    });
    await until(() => rig.panels.health().state === 'ok', 'the subscription');
    const client = await broker.client();
    const count = 3000;
    await Promise.all(
      Array.from({ length: count }, (_, i) => client.publishAsync('dsc/Get/Zone7', String(i % 2), { qos: 1 })),
    );
    await until(() => zonesOf(seen).length === count, 'all of them');
    expect(most).toBeGreaterThan(20);
    // mqtt.js may have asked for a few more when the limit was reached.
    expect(most).toBeLessThanOrEqual(2 * 64);
    expect(zonesOf(seen).every((text, i) => text === `7 ${i % 2 === 1}`)).toBe(true);
    await rig.stop();
  });
});
