import type { Answer, MakePolicy, Policy, Site, Status } from './bridge.ts';

const pollMs = 30_000;
const retryMs = 2_000;

/** What both rivals share: polls with the same pace, a write at once after a change on the site, one repeat of it. */
function poller(site: Site, read: (answer: Answer, put: () => void) => void): Policy {
  let requests = 0;
  let flight: { request: number; kind: 'get' | 'put'; status: Status } | undefined;
  let owed = 0;

  const later = (ms: number) => {
    policy.wakeAt = site.now() + ms * (0.8 + 0.4 * site.random());
  };
  const send = (kind: 'get' | 'put') => {
    requests += 1;
    flight = { request: requests, kind, status: site.status() };
    policy.wakeAt = Number.POSITIVE_INFINITY;
    if (kind === 'get') site.get(requests);
    else site.put(requests, flight.status);
  };
  const put = () => {
    owed = 2;
    if (flight === undefined) send('put');
  };
  const policy: Policy = {
    wakeAt: 0,
    wake: () => send(owed > 0 ? 'put' : 'get'),
    keypad: put,
    answered(request, answer) {
      if (flight?.request !== request) return;
      const { kind, status } = flight;
      flight = undefined;
      later(pollMs);
      if (kind === 'get') read(answer, put);
      else owed = status === site.status() ? 0 : owed;
      if (flight === undefined && owed > 0) send('put');
    },
    lost(request) {
      if (flight?.request !== request) return;
      if (flight.kind === 'put') owed -= 1;
      flight = undefined;
      later(owed > 0 ? retryMs : pollMs);
    },
  };
  return policy;
}

/** What the cloud says is what the site shall be: the desired value of a device twin. */
export const followTheCloud: MakePolicy = (site) =>
  poller(site, ({ value }) => {
    if (value !== site.status()) site.apply(value);
  });

/** Each side stamps its changes, the newer stamp wins. */
export const lastWriterWins: MakePolicy = (site) => {
  let wonAt = 0;
  return poller(site, ({ value, writtenAt }, put) => {
    if (value === site.status()) return;
    if ((writtenAt ?? 0) > Math.max(wonAt, site.keypadAt())) {
      wonAt = writtenAt ?? 0;
      site.apply(value);
    } else {
      put();
    }
  });
};
