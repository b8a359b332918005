import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { CrashPoint } from '#lib/crash-point.ts';
import { startProcess } from '#sandbox/demo/processes.ts';
import { runnableBundle } from '../../../tools/bundle.ts';
import { camera, code, type Site, startSite } from '../../harness/site.ts';
import { acknowledgedEventsArrived, eachIdIsOneEvent } from '../checks.ts';
import { outboxIsEmpty } from '../outbox.ts';

/** A site whose daemon runs from a bundle with crash points. */
export interface CrashSite extends Site {
  /** Somebody arms, the window opens: an alarm with a picture; somebody disarms. Nothing waits for an answer. */
  burglary(): Promise<void>;
  /** From now on the cloud refuses every event, or none. */
  refuse(all: boolean): Promise<void>;
  /** `siteward outbox retry --all`; where the daemon ends in the middle of it, nothing is said. */
  retryParked(): Promise<void>;
  /** Starts the daemon so that it ends when it comes to the point for the nth time; keeps it busy until it has. */
  runInto(point: CrashPoint, options: { busy: () => Promise<void>; nth?: number; timeoutMs?: number }): Promise<void>;
  /** All that was shown on the LAN so far is in the cloud, once or repeated with the same bytes, pictures too. */
  nothingIsLost(): Promise<void>;
}

const yaml = (cameras: Readonly<Record<string, string>>) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: perimeter, name: Window, key: window, partition: p1, cameras: [yard] } }
cameras:
${camera('yard', cameras.yard, 'partition: p1')}
media: { snapshots: 1 }
`;

/** A bundle with crash points, in a folder of its own; it starts in half the time of the sources. */
export async function crashProgram(): Promise<{ program: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-crash-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    return { program: await runnableBundle(folder, { crashPoints: true }), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

export async function startCrashSite(): Promise<CrashSite> {
  const { program, remove } = await crashProgram();
  try {
    const site = await startSite({ program, cameras: ['yard'], yaml: (at) => yaml(at.cameras) });
    const close = () => site.close().finally(remove);
    return { ...site, close, ...doings(site, program) };
  } catch (error) {
    remove();
    throw error;
  }
}

function doings(site: Site, program: string): Omit<CrashSite, keyof Site> {
  const contact = (closed: boolean) => site.lan.publish('zigbee2mqtt/window', JSON.stringify({ contact: closed }));
  const everyEvent = { path: '/partner/v1/events', method: 'POST', mode: 'status', status: 400, count: -1 };
  return {
    async burglary() {
      await contact(true);
      // Without a code five a minute are the most (C8).
      await site.lan.send('arm', { partition: 'p1', mode: 'away', force: true, code });
      await pause(150);
      await contact(false);
      await pause(350);
      await site.lan.send('disarm', { partition: 'p1', code });
    },
    async refuse(all) {
      await site.cloud.control('faults', all ? { method: 'POST', body: everyEvent } : { method: 'DELETE' });
    },
    async retryParked() {
      const running = startProcess({
        name: 'retry',
        args: [program, 'outbox', 'retry', '--all', '--socket', site.socket],
      });
      await running.until((line) => (line.includes('back in line') ? true : undefined), 'retry').catch(() => undefined);
      await running.stop();
    },
    async runInto(point, { busy, nth = 1, timeoutMs = 60_000 }) {
      // It may end before it is ready.
      await site.daemon.restart({ SITEWARD_CRASH_AT: `${point}:${nth}` }).catch(() => undefined);
      const over = new AbortController();
      const load = (async () => {
        while (!over.signal.aborted) await busy();
      })();
      try {
        await site.daemon.ended(timeoutMs);
      } catch (error) {
        const said = site.daemon.lines().slice(-20).join('\n');
        throw new Error(`${point} was not reached; the daemon's last words:\n${said}`, { cause: error });
      } finally {
        over.abort();
        await load;
      }
    },
    async nothingIsLost() {
      // What comes from now on may still be on its way when the cloud is asked.
      const shown = [...site.lan.events];
      await outboxIsEmpty(site, { timeoutMs: 60_000 });
      const [record, history] = [await site.cloud.events(), await site.history()];
      acknowledgedEventsArrived(shown, record, history);
      eachIdIsOneEvent(shown, record);
      const uploads = new Set((await site.cloud.uploads()).map(({ event_id }) => event_id));
      // A picture may be missed while the daemon is away; one that was taken may not be spoilt.
      const missed = new Set(
        history
          .filter(({ media }) =>
            media.some(({ state, reason }) => state === 'failed' && !/the file/.test(reason ?? '')),
          )
          .map(({ event }) => event.event_id),
      );
      const due = record.filter(({ body }) => body.upload_snapshot_count > 0).map(({ event_id }) => event_id);
      const lost = due.filter((id) => !uploads.has(id) && !missed.has(id));
      expect(lost.map((id) => [id, history.find(({ event }) => event.event_id === id)?.media])).toEqual([]);
    },
  };
}
