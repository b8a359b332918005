import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { describe } from '#errors.ts';
import type { Health, Part } from '#lib/health.ts';
import { settingsKey } from '#lib/settings-key.ts';
import { never, withDeadline } from '#lib/wait.ts';

/**
 * A place for one part. `wants` is the part of the settings it is made of: when that changes at a reload, the part is
 * stopped and a new one made; otherwise it runs on untouched.
 */
export interface Slot<Settings> {
  readonly name: string;
  /** Without it the daemon cannot protect anything: a failure ends the start instead of degrading. */
  readonly vital?: boolean;
  wants(settings: Settings): unknown;
  /** Undefined: these settings need no such part. */
  create(settings: Settings, metrics: Registry): Part | undefined;
  /** The part was stopped: nobody may reach it any more. */
  ended?(): void;
  /** For a part that can take new settings while it runs: what it then takes, and how. */
  readonly adapts?: { wants(settings: Settings): unknown; to(settings: Settings): Promise<void> };
}

export interface PartReport extends Health {
  readonly name: string;
}

/** The parts of the daemon: started in the order listed, stopped in reverse, swapped one by one at a reload. */
export interface Slots<Settings> {
  start(settings: Settings): Promise<void>;
  /**
   * Swaps the parts whose settings changed, and those that failed; resolves with their names. Where that fails for a
   * vital part, those of the settings before run again, and it rejects with what was wrong.
   */
  reload(settings: Settings): Promise<readonly string[]>;
  /** Makes the parts anew that could not be made or started. */
  retry(): Promise<void>;
  stop(): Promise<void>;
  health(): readonly PartReport[];
  metrics(): Promise<string>;
}

interface Running {
  /** Undefined: it could not be made or started. */
  readonly key: string | undefined;
  readonly adaptKey: string;
  readonly part: Part | undefined;
  readonly metrics: Registry;
}

const startDeadlineMs = 30_000;
const stopDeadlineMs = 2000;

export function createSlots<Settings>(options: {
  slots: readonly Slot<Settings>[];
  /** Metrics of the process itself. */
  processMetrics: Registry;
  log: Logger;
}): Slots<Settings> {
  const { slots, log } = options;
  const running = new Map<string, Running>();
  const abort = new AbortController();
  const failures = new Map<string, string>();
  let inForce: Settings | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  /** One after the other. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  }

  /** Makes and starts one part. What fails is reported by `health` with its reason; the rest of the house goes on. */
  async function startOne(slot: Slot<Settings>, settings: Settings): Promise<void> {
    const metrics = new Registry();
    const keys = { key: settingsKey(slot.wants(settings)), adaptKey: settingsKey(slot.adapts?.wants(settings)) };
    try {
      const part = slot.create(settings, metrics);
      running.set(slot.name, { ...keys, part, metrics });
      await withDeadline(startDeadlineMs, abort.signal, async (signal) => part?.start(signal), `starting ${slot.name}`);
    } catch (error) {
      const part = running.get(slot.name)?.part ?? failedPart(slot.name, error);
      running.set(slot.name, { ...keys, key: undefined, part, metrics });
      const [reason, before] = [describe(error), failures.get(slot.name)];
      failures.set(slot.name, reason);
      if (slot.vital === true || abort.signal.aborted) throw error;
      if (reason !== before)
        log.error({ part: slot.name, err: error }, 'a part could not start; the rest goes on without it');
      return;
    }
    failures.delete(slot.name);
  }

  async function stopOne(slot: Slot<Settings>): Promise<void> {
    const found = running.get(slot.name);
    running.delete(slot.name);
    const part = found?.part;
    if (part === undefined) return;
    try {
      await withDeadline(stopDeadlineMs, never(), () => part.stop(), `stopping ${slot.name}`);
    } catch (error) {
      log.warn({ part: slot.name, err: error }, 'a part did not stop cleanly');
    }
    slot.ended?.();
  }

  async function adapt(slot: Slot<Settings>, settings: Settings): Promise<void> {
    const found = running.get(slot.name);
    const adaptKey = settingsKey(slot.adapts?.wants(settings));
    if (found === undefined || slot.adapts === undefined || found.adaptKey === adaptKey) return;
    await slot.adapts.to(settings);
    running.set(slot.name, { ...found, adaptKey });
  }

  async function swap(settings: Settings): Promise<readonly string[]> {
    const changed = slots.filter((slot) => running.get(slot.name)?.key !== settingsKey(slot.wants(settings)));
    for (const slot of [...changed].reverse()) await stopOne(slot);
    for (const slot of slots) {
      if (changed.includes(slot)) await startOne(slot, settings);
      else await adapt(slot, settings);
    }
    return changed.map((slot) => slot.name);
  }

  return {
    async start(settings) {
      inForce = settings;
      for (const slot of slots) await startOne(slot, settings);
    },

    reload: (settings) =>
      inTurn(async () => {
        try {
          const swapped = await swap(settings);
          inForce = settings;
          return swapped;
        } catch (error) {
          if (inForce !== undefined) await swap(inForce);
          throw error;
        }
      }),

    retry: () =>
      inTurn(async () => {
        for (const slot of slots) {
          const isMissing = !running.has(slot.name) || failures.has(slot.name);
          if (abort.signal.aborted || inForce === undefined || !isMissing) continue;
          await stopOne(slot);
          await startOne(slot, inForce);
        }
      }),

    async stop() {
      abort.abort(new Error('the daemon is stopping'));
      for (const slot of [...slots].reverse()) await stopOne(slot);
    },

    health() {
      return slots.flatMap(({ name }): PartReport[] => {
        const found = running.get(name);
        // Between its end and its making anew, or for longer where what it stands on could not be made.
        if (found === undefined)
          return inForce === undefined ? [] : [{ name, state: 'down', reason: 'is not running' }];
        return found.part === undefined ? [] : [{ name, ...healthOf(found.part) }];
      });
    },

    async metrics() {
      const registries = [options.processMetrics, ...[...running.values()].map((entry) => entry.metrics)];
      return (await Promise.all(registries.map((registry) => registry.metrics())))
        .filter((text) => text !== '')
        .join('\n');
    },
  };
}

/** Stands in for a part that could not be made from its settings, until it can. */
function failedPart(name: string, error: unknown): Part {
  return {
    name,
    start: async () => undefined,
    stop: async () => undefined,
    health: () => ({ state: 'down', reason: describe(error) }),
  };
}

function healthOf(part: Part): Health {
  try {
    return part.health();
  } catch (error) {
    return { state: 'down', reason: describe(error) };
  }
}
