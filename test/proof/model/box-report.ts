import type { CloudClient } from '#cloud/client/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { Store } from '#site/store/index.ts';

/** One line for the test. Writing to a pipe is synchronous: what was said before a SIGKILL arrives. */
export function say(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

/** Store and cloud as delivery gets them, so that each try and each durable verdict is told as it happens. */
export function reporting<S extends Store>(of: {
  store: S;
  cloud: CloudClient;
  clock: Clock;
}): {
  store: S;
  cloud: CloudClient;
} {
  const { store, cloud, clock } = of;
  let posts = 0;

  const postEvent: CloudClient['api']['postEvent'] = async (input) => {
    posts += 1;
    const nth = posts;
    const eventId = input.headers?.['x-partner-trace-id'] ?? '';
    say({ what: 'post', nth, eventId, mono: clock.monotonic() });
    try {
      const result = await cloud.api.postEvent(input);
      const mono = clock.monotonic();
      if (result.kind === 'failure') {
        say({ what: 'posted', nth, mono, failure: result.failure, taken: false });
        return result;
      }
      const { status, text, json, headers } = result;
      const type = headers['content-type'] ?? 'json';
      const readable = text.trim() === '' || (json !== undefined && type.includes('json'));
      const taken = ((status >= 200 && status < 300) || status === 409) && readable;
      const asked = Number(headers['retry-after'] ?? Number.NaN);
      const wait = Number.isNaN(asked) ? {} : { retryAfterMs: asked * 1000 };
      say({ what: 'posted', nth, mono, status, taken, ...wait });
      return result;
    } catch (error) {
      say({ what: 'posted', nth, mono: clock.monotonic(), failure: String(error), taken: false });
      throw error;
    }
  };

  const settle: Store['settle'] = async (verdicts, options) => {
    await store.settle(verdicts, options);
    say({ what: 'settled', seqs: verdicts.flatMap(({ verdict, seq }) => (verdict === 'delivered' ? [seq] : [])) });
  };

  return { store: withMember(store, 'settle', settle), cloud: { ...cloud, api: { ...cloud.api, postEvent } } };
}

/** The same object with one member replaced; its methods keep their own `this`. */
function withMember<T extends object>(object: T, name: keyof T, replacement: unknown): T {
  return new Proxy(object, {
    get(target, member) {
      if (member === name) return replacement;
      const value: unknown = Reflect.get(target, member, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
