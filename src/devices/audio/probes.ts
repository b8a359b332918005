import { backoff } from '#lib/backoff.ts';
import { sleep, wakeup, withDeadline } from '#lib/wait.ts';
import type { DeviceId } from '#site/model/index.ts';
import { SpeakerError } from './driver.ts';
import type { Speaker } from './speakers.ts';

/** How a speaker is; null while nobody knows. */
export interface SpeakerCondition {
  readonly up: boolean | null;
  /** For people: what answered, or what is wrong. */
  readonly detail?: string;
  /** Wall clock, milliseconds. */
  readonly since: number;
}

export interface Probes {
  /** Follows these speakers and no others. */
  follow(speakers: ReadonlyMap<DeviceId, Speaker>): void;
  /** It is looked at soon: something went wrong with it. */
  hurry(speaker: DeviceId): void;
  /** The player's word: so many failures in a row, or that it is well again. */
  heed(speaker: DeviceId, healthy: boolean): void;
  /** Whether it may sound on although it was told to be silent. */
  soundsOn(speaker: DeviceId, isSo: boolean): void;
  of(speaker: DeviceId): SpeakerCondition;
  stop(): Promise<void>;
}

interface Follower {
  readonly speaker: Speaker;
  readonly stop: AbortController;
  readonly wake: ReturnType<typeof wakeup>;
  condition: SpeakerCondition;
  /** What the last probe found, and what the player says of it. */
  answered: boolean | null;
  detail: string | undefined;
  healthy: boolean;
  soundsOn: boolean;
}

const probeMs = 10_000;
/** After a failure it is asked again so soon, and then less and less often. */
const againMs = 10_000;
const againCapMs = 300_000;

/** Asks each speaker from time to time, without a sound, whether it is there. */
export function createProbes(options: {
  readonly everyMs: () => number;
  /** Something sounds there: it need not be asked, and may refuse. */
  readonly isBusy: (lane: string) => boolean;
  readonly onProbed: (speaker: DeviceId, ok: boolean) => void;
  /** It has gone or come back, or this is the first word of it. */
  readonly onChanged: (speaker: DeviceId, condition: SpeakerCondition) => void;
  readonly wall: () => number;
}): Probes {
  const { everyMs, isBusy, onProbed, onChanged, wall } = options;
  const followers = new Map<DeviceId, Follower>();
  const ending = new Set<Promise<void>>();

  function judge(id: DeviceId, follower: Follower): void {
    const { answered, healthy, soundsOn, detail, condition } = follower;
    const up = soundsOn ? false : answered === null ? null : answered && healthy;
    const ill = answered === true && !healthy ? 'it has failed again and again when it was to play' : detail;
    const text = soundsOn ? 'it did not take the order to be silent and may sound on' : ill;
    const changed = up !== condition.up;
    const since = changed ? wall() : condition.since;
    follower.condition = { up, since, ...(text !== undefined && { detail: text }) };
    if (changed && up !== null) onChanged(id, follower.condition);
  }

  async function ask(id: DeviceId, follower: Follower): Promise<boolean> {
    const { speaker, stop } = follower;
    try {
      const work = (signal: AbortSignal) => speaker.driver.probe(signal);
      const { detail } = await withDeadline(probeMs, stop.signal, work, `asking speaker ${id}`);
      Object.assign(follower, { answered: true, detail });
    } catch (error) {
      if (stop.signal.aborted) return false;
      // Whatever else it rejects with may hold an address.
      const why = error instanceof SpeakerError ? error.message : 'it does not answer';
      Object.assign(follower, { answered: false, detail: why });
    }
    judge(id, follower);
    return follower.answered === true;
  }

  async function run(id: DeviceId, follower: Follower): Promise<void> {
    const { signal } = follower.stop;
    const pause = backoff({ baseMs: againMs, capMs: againCapMs });
    let dueAt = 0;
    while (!signal.aborted) {
      const isDue = performance.now() >= dueAt;
      if (isBusy(follower.speaker.lane)) dueAt = Math.max(dueAt, performance.now() + againMs);
      else {
        const ok = await ask(id, follower);
        if (signal.aborted) return;
        if (ok) pause.reset();
        if (isDue) {
          dueAt = performance.now() + (ok ? everyMs() : Math.min(pause.next(), everyMs()));
          // Only what is asked by the clock speaks for the speaker: also one that is frozen answers.
          onProbed(id, ok);
        } else if (!ok) dueAt = Math.min(dueAt, performance.now() + againMs);
      }
      await follower.wake.wait(dueAt - performance.now(), signal).catch(() => undefined);
      // One that fails at once again and again is not asked without a pause.
      await sleep(100, signal).catch(() => undefined);
    }
  }

  function end(id: DeviceId): void {
    followers.get(id)?.stop.abort(new Error('the speaker is not followed any more'));
    followers.delete(id);
  }

  return {
    follow(speakers) {
      for (const [id, { speaker }] of followers) if (speakers.get(id) !== speaker) end(id);
      for (const [id, speaker] of speakers) {
        if (followers.has(id)) continue;
        const follower: Follower = {
          ...{ speaker, stop: new AbortController(), wake: wakeup(), healthy: true, soundsOn: false },
          ...{ answered: null, detail: undefined, condition: { up: null, since: wall() } },
        };
        followers.set(id, follower);
        const running = run(id, follower).finally(() => ending.delete(running));
        ending.add(running);
      }
    },
    hurry: (id) => followers.get(id)?.wake.wake(),
    heed(id, healthy) {
      const follower = followers.get(id);
      if (follower === undefined) return;
      follower.healthy = healthy;
      judge(id, follower);
    },
    soundsOn(id, isSo) {
      const follower = followers.get(id);
      if (follower === undefined || follower.soundsOn === isSo) return;
      follower.soundsOn = isSo;
      judge(id, follower);
    },
    of: (id) => followers.get(id)?.condition ?? { up: null, since: 0 },
    async stop() {
      for (const id of [...followers.keys()]) end(id);
      await Promise.allSettled(ending);
    },
  };
}
