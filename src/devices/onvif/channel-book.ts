import type { Logger } from 'pino';
import { describe, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { sleep, wakeup } from '#lib/wait.ts';
import type { DeviceId, DeviceRef, Signal } from '#site/model/index.ts';
import { apart, type Binding, bind, type Identity, nextRoster } from './bindings.ts';
import type { ChannelStatus, MemoryPort } from './camera.ts';
import { alwaysZero, type Claim, channelNumbers, claimOf, isDeviceLevel } from './channels.ts';
import { createLosses } from './losses.ts';
import { channelKey, keyOf } from './memory-keys.ts';
import type { Notification } from './notification.ts';
import type { NvrOptions } from './options.ts';
import { firstReadMs, patiently } from './patient-memory.ts';
import type { Reads } from './reads.ts';
import { type Sense, zonesOfInputs } from './sense.ts';
import type { Timing } from './timing.ts';
import { ownRows } from './topic-options.ts';
import { topicFinder } from './topics.ts';
import { readTopology, type Topology } from './topology.ts';

/** Which channel of a recorder is which, as far as it is known now. */
export interface ChannelBook extends Sense {
  /** Reads what the recorder has again: every few minutes, and soon when it says that its settings changed. Ends only with the signal. */
  run(signal: AbortSignal): Promise<void>;
  /** Notes what a message says about the channels, whatever became of it. */
  heard(message: Notification, signals: readonly Signal[]): void;
  /** Tokens of a channel's profiles and those of another source; throws with the reason when the channel is not certain. */
  profilesOf(channel: DeviceId): {
    readonly own: readonly string[];
    readonly stream: string | undefined;
    readonly other: string | undefined;
    readonly position: number;
  };
  status(channel: DeviceId): ChannelStatus;
  /** What the installer should see to, in words. */
  hints(): readonly string[];
}

/** What is kept over restarts of a whole recorder. */
interface Kept {
  /** Every source there was, by position. */
  readonly roster: readonly string[];
  /** Another number than 000 was seen, so numbers can be believed. */
  readonly numbers: boolean;
}

const settingsTopics = /^(Media\/(ProfileChanged|ConfigurationChanged)|Configuration\/)/;

export function createChannelBook(options: {
  nvr: NvrOptions;
  reads: Reads;
  memory: MemoryPort;
  clock: Clock;
  log: Logger;
  timing: Pick<Timing, 'topologyEveryMs' | 'topologyAtLeastMs' | 'lossAfterMs'>;
  isUp: () => boolean;
}): ChannelBook {
  const { nvr, reads, memory, clock, log, timing } = options;
  const device: DeviceRef = { kind: 'nvr', id: nvr.id };
  const ids = nvr.channels.map(({ id }) => id);
  const losses = createLosses(ids, timing.lossAfterMs);
  const wake = wakeup();
  const find = topicFinder(ownRows(nvr.topics));
  const lastEventAt = new Map<DeviceId, number>();
  const guessed = new Set<DeviceId>();
  let topology: Topology | undefined;
  let bindings = new Map<DeviceId, Binding>();
  let bySource = new Map<string, DeviceId>();
  let identities: Map<DeviceId, Identity> | undefined;
  let keptText = '';
  let kept: Kept = { roster: [], numbers: false };
  let zeroSeen = false;
  let version = 0;
  let readAt = Number.NEGATIVE_INFINITY;

  function claim(message: Notification): Claim | undefined {
    if (topology === undefined) return undefined;
    // "Always 000": the number is no channel before another one was ever seen.
    if (topology.sources.length > 1 && !kept.numbers && channelNumbers(message).includes(alwaysZero)) return undefined;
    return claimOf(topology, message, kept.roster, find);
  }

  async function read(signal: AbortSignal): Promise<void> {
    await recall(signal);
    readAt = clock.monotonic();
    const found = await readTopology(reads, signal);
    // An answer without any source tells nothing about the channels, nor one that names them otherwise for once.
    if (found.sources.length === 0 || (topology?.listed === true && !found.listed)) return;
    take(found);
    await keep(signal);
  }

  function take(found: Topology): void {
    const { sources } = found;
    const all = apart(nvr.channels.map((channel) => bind(channel, sources, identities?.get(channel.id), kept.roster)));
    const next = new Map(all.map((one) => [one.channel, one]));
    for (const one of all) tellChange(one, bindings.get(one.channel));
    const before = mapText();
    topology = found;
    bindings = next;
    bySource = new Map(all.flatMap(({ channel, source }) => (source === undefined ? [] : [[source.token, channel]])));
    kept = { ...kept, roster: nextRoster(kept.roster, sources) };
    if (mapText() !== before) version += 1;
    const now = clock.monotonic();
    for (const one of all) losses.note(one.channel, 'gone', one.state !== 'bound', now);
  }

  /** What decides which channel a message is about; changes of it move what is on. */
  const mapText = (): string =>
    topology === undefined
      ? ''
      : JSON.stringify([
          [...bySource],
          [...topology.configurations],
          [...topology.analytics],
          [...topology.profiles],
          kept,
        ]);

  function tellChange(now: Binding, before: Binding | undefined): void {
    if (now.state === before?.state) return;
    const facts = { channel: now.channel, ...(now.source !== undefined && { source: now.source.token }) };
    if (now.state !== 'bound') log.warn({ ...facts, reason: now.reason }, `the channel is ${now.state}`);
    else log.info(facts, 'the channel is known');
  }

  /**
   * What earlier runs knew; until it works. A memory that hangs or fails must not keep the recorder from being watched: then
   * the channels are those of now, nothing is written over what is kept, and it is soon asked again.
   */
  async function recall(signal: AbortSignal): Promise<void> {
    if (identities !== undefined) return;
    const keys = [keyOf('roster', nvr.id), ...ids.map((id) => channelKey(nvr.id, id))];
    const first = topology === undefined ? { ms: firstReadMs } : {};
    const found = await patiently(() => Promise.all(keys.map(async (key) => memory.get(key))), {
      ...{ signal, ...first },
      failed(error) {
        signal.throwIfAborted();
        log.warn({ reason: describe(error) }, 'could not read what was remembered of the channels');
      },
    });
    if (found === undefined) return;
    const [roster, ...texts] = found.value;
    const known = ids.map((id, at): [DeviceId, Identity | undefined] => [id, parseIdentity(texts[at])]);
    identities = new Map(known.flatMap(([id, one]) => (one === undefined ? [] : [[id, one]])));
    const before = parseKept(roster);
    kept = {
      roster: before.roster.length > 0 ? before.roster : kept.roster,
      numbers: before.numbers || kept.numbers,
    };
  }

  async function keep(signal: AbortSignal): Promise<void> {
    if (identities === undefined) return;
    for (const { channel, identity } of bindings.values()) {
      if (identity === undefined || JSON.stringify(identity) === JSON.stringify(identities.get(channel))) continue;
      if (await set(channelKey(nvr.id, channel), JSON.stringify(identity), signal)) identities.set(channel, identity);
    }
    const text = JSON.stringify(kept);
    // The memory takes 4 KiB; a recorder with more than that in tokens is known anew after a restart.
    if (text === keptText || text.length > 4000) return;
    if (await set(keyOf('roster', nvr.id), text, signal)) keptText = text;
  }

  /** False when it failed; it is tried again when the channels are read again. */
  const set = async (key: string, text: string, signal: AbortSignal): Promise<boolean> =>
    (await patiently(() => memory.set(key, text), { signal, failed: () => signal.throwIfAborted() })) !== undefined;

  /** Losses are told when they have lasted; what the device says about a channel's picture is kept from going up before. */
  function refine(signals: readonly Signal[], now: number): readonly Signal[] {
    const rest = signals.filter((signal) => {
      const isLoss = signal.kind === 'detection' && signal.detection === 'video_loss' && !signal.pulse;
      if (!isLoss || signal.source.kind !== 'camera') return true;
      losses.note(signal.source.id, 'signal', signal.active, now);
      return false;
    });
    return [...zonesOfInputs(rest, device, nvr.inputs), ...losses.due(now)];
  }

  const zeroDoubt = () => zeroSeen && !kept.numbers && (topology?.sources.length ?? 0) > 1;

  return {
    sourceOf(message) {
      const found = claim(message);
      const channel = found === undefined ? undefined : bySource.get(found.source);
      return channel === undefined ? device : { kind: 'camera', id: channel };
    },
    get version() {
      return version;
    },
    async learn(signal) {
      losses.restart(clock.monotonic());
      await read(signal).catch((error: unknown) => {
        wake.wake();
        throw error;
      });
    },
    refine,
    dueMs: losses.dueMs,
    heard(message, signals) {
      for (const { source } of signals) if (source.kind === 'camera') lastEventAt.set(source.id, clock.wall());
      if (settingsTopics.test(message.topic) && message.operation !== 'Initialized') wake.wake();
      // A wired contact may be called 001, which says nothing about the channels.
      const numbers = isDeviceLevel(message, find) ? [] : channelNumbers(message);
      if (numbers.includes(alwaysZero)) zeroSeen = true;
      if (!kept.numbers && numbers.some((number) => number !== alwaysZero)) {
        kept = { ...kept, numbers: true };
        version += 1;
        wake.wake();
      }
      const found = claim(message);
      const channel = found === undefined ? undefined : bySource.get(found.source);
      if (channel === undefined) return;
      if (found?.how === 'guessed') guessed.add(channel);
      else guessed.delete(channel);
    },
    async run(signal) {
      for (;;) {
        const isUnsure = topology === undefined || identities === undefined;
        await wake.wait(isUnsure ? timing.topologyAtLeastMs : timing.topologyEveryMs, signal);
        await sleep(readAt + timing.topologyAtLeastMs - clock.monotonic(), signal);
        if (!options.isUp()) continue;
        await read(signal).catch((error: unknown) => {
          signal.throwIfAborted();
          log.debug({ reason: describe(error) }, 'the recorder does not tell its channels');
        });
      }
    },
    profilesOf(channel) {
      const binding = bindings.get(channel);
      const { source } = binding ?? {};
      if (source === undefined) throw uncertain(binding);
      const other = topology?.sources.find(({ token, profiles }) => token !== source.token && profiles.length > 0);
      const position = kept.roster.indexOf(source.token) + 1;
      return { own: source.profiles, stream: source.stream, other: other?.profiles[0], position };
    },
    status(channel) {
      const binding = bindings.get(channel);
      const at = lastEventAt.get(channel);
      const { source } = binding ?? {};
      return {
        id: channel,
        state:
          binding === undefined
            ? 'unknown'
            : losses.isLost(channel) && binding.state === 'bound'
              ? 'no_signal'
              : binding.state,
        ...(source !== undefined && {
          source: source.token,
          position: source.position,
          profiles: source.profiles.length,
        }),
        ...(source?.resolution !== undefined && { resolution: source.resolution }),
        ...(binding?.state === 'bound' && { mapping: guessed.has(channel) || topology?.byOrder ? 'guessed' : 'exact' }),
        ...(binding?.reason !== undefined && { reason: binding.reason }),
        ...(at !== undefined && { lastEventAt: at }),
      };
    },
    hints() {
      const unsure = [...bindings.values()].filter(({ state }) => state !== 'bound');
      return [
        ...unsure.map(({ channel, state, reason }) =>
          state === 'gone'
            ? `channel ${channel} is not there: ${reason}`
            : `channel ${channel} is not certain, so its events open no zone: ${reason}. Look at its picture in the recorder, then name it anew: position in place of source, or the other way round`,
        ),
        ...(zeroDoubt()
          ? [
              'events name channel 000 whichever channel they are about, or only that one had any: they open no zone until another number is seen; walk before another channel',
            ]
          : []),
      ];
    },
  };
}

const uncertain = (binding: Binding | undefined) =>
  new SitewardError(
    'camera_unreachable',
    `No picture of a channel that is not certain: ${binding?.reason ?? 'the channels of the recorder are not known yet'}`,
  );

function parseIdentity(text: string | undefined): Identity | undefined {
  const value = parse(text);
  const { selector, token, name, resolution } = value;
  if (typeof selector !== 'string' || typeof token !== 'string' || typeof name !== 'string') return undefined;
  return { selector, token, name, ...(typeof resolution === 'string' && { resolution }) };
}

function parseKept(text: string | undefined): Kept {
  const { roster, numbers } = parse(text);
  const tokens = Array.isArray(roster) ? roster.filter((token) => typeof token === 'string') : [];
  return { roster: tokens, numbers: numbers === true };
}

function parse(text: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
