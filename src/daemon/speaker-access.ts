import {
  type AudioPorts,
  pinnedTo,
  type SpeakerAccess,
  SpeakerError,
  type SpeakerOptions,
} from '#devices/audio/index.ts';
import { type AccountGuard, type Camera, createAccountGuard, type MemoryPort } from '#devices/onvif/index.ts';
import type { Clock } from '#lib/clock.ts';
import { sha256 } from '#lib/digest.ts';
import { settingsKey } from '#lib/settings-key.ts';
import { sleep } from '#lib/wait.ts';
import type { DeviceId } from '#site/model/index.ts';
import { type House, running } from './house.ts';

/**
 * How speakers on the network are let in: one of a configured camera by the account of that camera, all others of one device
 * and user by one account of their own, so that a wrong password is tried twice in all, and not by each.
 */
export function speakerAccess(
  house: Pick<House, 'cameras' | 'store'>,
  clock: Clock,
): NonNullable<AudioPorts['access']> {
  let guards: ReadonlyMap<string, AccountGuard> = new Map();
  const memory = memoryOf(house);

  return (speakers) => {
    const kept = new Map<string, AccountGuard>();
    const keys = new Set<string>();
    const guardOf = (options: SpeakerOptions): AccountGuard => {
      const { username = '', password } = options;
      const device = deviceOf(options);
      const key = `login/${sha256(`${device}\n${username}`).slice(0, 32)}`;
      keys.add(key);
      const login = `${device}\n${username}\n${password?.reveal() ?? ''}`;
      const name = settingsKey([device, username, password]);
      const guard = kept.get(name) ?? guards.get(name) ?? createAccountGuard({ key, login, memory, clock });
      kept.set(name, guard);
      return guard;
    };
    const access = speakers.flatMap((one): [DeviceId, SpeakerAccess][] => {
      if (one.driver !== 'onvif' && one.driver !== 'http') return [];
      const { camera } = one;
      return [[one.id, camera === undefined ? ownAccess(one, guardOf) : cameraAccess(house, camera, one.url)]];
    });
    guards = kept;
    void forget(memory, keys).catch(() => undefined);
    return new Map(access);
  };
}

/** Whichever store runs when it is asked. */
function memoryOf(house: Pick<House, 'store'>): MemoryPort {
  const memory = () => running(house, 'store').memory('audio');
  return {
    get: async (key) => memory().get(key),
    set: async (key, value) => memory().set(key, value),
    delete: async (key) => memory().delete(key),
    keys: async () => memory().keys(),
  };
}

/** What is remembered of accounts that are not configured any more. */
async function forget(memory: MemoryPort, used: ReadonlySet<string>): Promise<void> {
  for (const key of await memory.keys()) if (key.startsWith('login/') && !used.has(key)) await memory.delete(key);
}

const deviceOf = ({ url, push, trigger }: SpeakerOptions): string =>
  new URL(url ?? push?.url ?? trigger?.url ?? 'http://nowhere').hostname.toLowerCase();

function ownAccess(options: SpeakerOptions, guardOf: (options: SpeakerOptions) => AccountGuard): SpeakerAccess {
  const { driver, url = '', username, password, basic_login, tls_fingerprint } = options;
  const address = async () => url;
  const trust = tls_fingerprint === undefined ? {} : { judge: pinnedTo(tls_fingerprint) };
  if (username === undefined || password === undefined)
    return { address, trust, login: { credentials: () => undefined } };
  const guard = guardOf(options);
  return {
    ...{ address, trust },
    login: {
      credentials: () => ({ username, password }),
      ready: () => guard.recall(),
      mayLogIn: guard.enter,
      told: (verdict) => guard.judged(verdict === 'accepted'),
      mayGoInClear() {
        // Of http it says so itself.
        if (driver === 'http' || basic_login === true) return;
        throw new SpeakerError(
          'auth',
          'the device wants the password in clear (Basic), which is not sent; if it cannot do better, set basic_login: true',
        );
      },
    },
  };
}

const onceMs = 100;

function cameraAccess(house: Pick<House, 'cameras'>, id: DeviceId, url: string | undefined): SpeakerAccess {
  const found = (): Camera | undefined => house.cameras?.cameras.find((one) => one.id === id);
  const camera = (): Camera => {
    const one = found();
    if (one === undefined) throw new SpeakerError('not_found', `camera ${id} is not watched now`);
    return one;
  };
  /** The cameras start after the speakers, and one whose settings change is away for a moment. */
  async function ready(signal: AbortSignal): Promise<void> {
    while (found() === undefined) await sleep(onceMs, signal);
    await camera().speaker.recall();
  }
  return {
    async address(signal) {
      await ready(signal);
      return url ?? camera().streamAddress(signal);
    },
    trust: { judge: async (shown, host) => camera().speaker.judge(shown, host) },
    login: {
      ready,
      credentials: () => camera().speaker.credentials,
      mayLogIn: async (signal, over) => camera().speaker.enter(signal, over),
      told: (verdict) => found()?.speaker.judged(verdict === 'accepted'),
      mayGoInClear: () => camera().speaker.mayGoInClear(),
    },
  };
}
