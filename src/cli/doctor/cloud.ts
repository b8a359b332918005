import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Settings } from '#config/index.ts';
import { describe, isCode } from '#errors.ts';
import { unlessAborted } from '#lib/wait.ts';
import { openAccess } from '../cloud/access.ts';
import { publicHalf, writtenKey } from '../cloud/keys.ts';
import { askLine, clockApart, linePatienceMs, originsOf, toldClockS, worstClockS } from '../cloud/line.ts';
import { checkToken } from '../cloud/token.ts';
import { docPage } from '../doc-page.ts';
import { otherExternalId } from '../setup/cloud-site.ts';
import { openSiteFile } from '../site-file.ts';
import { type Check, type Finding, failed, good, noDaemon, skipped, warning } from './finding.ts';
import type { Scene } from './scene.ts';

type Cloud = NonNullable<Settings['cloud']>;

const waits = 'the site is protected, and its events wait on disk';

const hostOf = (origin: string): string => new URL(origin).hostname.replace(/^\[|\]$/g, '');

async function isFound(host: string, signal: AbortSignal): Promise<boolean> {
  const found = await unlessAborted(lookup(host), signal).catch(() => undefined);
  signal.throwIfAborted();
  return found !== undefined;
}

/** A check of what the configuration says of the cloud. */
const ofCloud =
  (look: (cloud: Cloud, scene: Scene, signal: AbortSignal) => Promise<readonly Finding[]>): Check['look'] =>
  async (scene, signal) => {
    if (scene.settings === undefined) return [skipped('the configuration has errors')];
    const { cloud } = scene.settings;
    return cloud === undefined ? [skipped('this site has no cloud')] : look(cloud, scene, signal);
  };

/** Whether the names of the cloud are found. */
export const namesCheck: Check = {
  id: 'dns',
  title: 'name server',
  look: ofCloud(async (cloud, _, signal) => {
    const hosts = [...new Set(originsOf(cloud).map(hostOf))];
    return Promise.all(
      hosts.map(async (host) => {
        if (isIP(host) !== 0) return skipped('an address, no name', host);
        try {
          const found = await unlessAborted(lookup(host, { all: true }), signal);
          return good(found.map(({ address }) => address).join(', '), host);
        } catch (error) {
          signal.throwIfAborted();
          return failed({
            subject: host,
            seen: `the name is not found: ${describe(error)}`,
            means: `the cloud cannot be reached; ${waits}`,
            advice: [
              'check the cable and the router of the site, and the name server: "resolvectl status" or /etc/resolv.conf',
              'check cloud.base_url and cloud.auth_url for a mistyped name',
            ],
          });
        }
      }),
    );
  }),
};

/** Whether each address answers over TLS, and what its clock says. */
export const reachCheck: Check = {
  id: 'tls',
  title: 'line and TLS',
  patienceMs: linePatienceMs,
  look: ofCloud(async (cloud, _, signal) => {
    const known: string[] = [];
    const findings = new Map<string, Finding>();
    for (const origin of originsOf(cloud)) {
      if (await isFound(hostOf(origin), signal)) known.push(origin);
      findings.set(origin, skipped('its name is not found, see above', origin));
    }
    const { origins, clockS } = await askLine(known, signal);
    for (const { origin, failure } of origins)
      findings.set(origin, failure === undefined ? good('answers', origin) : unreached(origin, failure));
    return [...findings.values(), ...(clockS === undefined ? [] : [clockFinding(clockS)])];
  }),
};

const unreached = (url: string, message: string): Finding =>
  failed({
    subject: url,
    seen: message,
    means: `the cloud cannot be reached; ${waits}`,
    advice: [
      'check the line of the site and its firewall: siteward needs TCP 443 outwards',
      'where the certificate is refused: set the clock, and look for a captive portal or a proxy that opens TLS',
    ],
  });

function clockFinding(offsetS: number): Finding {
  if (Math.abs(offsetS) <= toldClockS) return good('this box and the cloud have the same time', 'clock');
  const what = {
    subject: 'clock',
    seen: clockApart(offsetS),
    advice: 'have it set by NTP: "timedatectl set-ntp true"; without a line, "timedatectl set-time"',
  };
  return Math.abs(offsetS) > worstClockS
    ? failed({ ...what, means: 'tokens are refused or nearly so, and times of events are wrong' })
    : warning({ ...what, means: 'times of events and schedules are off by so much' });
}

/** Whether the key for events gets a token; each likely reason why not with the value that is used here. */
export const tokenCheck: Check = {
  id: 'token',
  title: 'token for events',
  patienceMs: 60_000,
  look: ofCloud(async (cloud, { file, daemon: { status, isHidden = false } }, signal) => {
    const means = `no event reaches the cloud; ${waits}`;
    let key: ReturnType<typeof writtenKey>;
    try {
      key = writtenKey(openSiteFile(file), 'current');
      if (key === undefined) return [skipped('cloud.events.private_key names no key')];
    } catch (error) {
      // A credential of the service is seen by the service alone: its word counts.
      const delivery = status?.parts.find(({ name }) => name === 'delivery');
      if (status?.links.some((link) => link.kind === 'cloud' && link.up === true) === true)
        return [good('siteward has one, and the cloud takes its events')];
      if (delivery?.reason !== undefined)
        return [
          failed({ seen: delivery.reason, means, advice: `${docPage('operations.md')} has it under "invalid_grant"` }),
        ];
      // This user sees neither the key nor siteward: nothing is known of it.
      if (isHidden) return [skipped(`${describe(error)}; run this as root`)];
      const advice =
        'run this as root; if the file is gone, restore it, or make a new key: "siteward cloud rotate-key"';
      return [failed({ seen: describe(error), means, advice })];
    }
    try {
      const { thumbprint } = await publicHalf(key.key);
      const said = `kid ${key.key.keyId ?? thumbprint}, ${key.place}`;
      return [await tokenFinding(cloud, { ...key, said, thumbprint, means }, signal)];
    } catch (error) {
      signal.throwIfAborted();
      const advice = 'it has to be an RSA key in PEM: "siteward cloud registration" makes one';
      return [failed({ seen: `the key of ${key.place} cannot sign: ${describe(error)}`, means, advice })];
    }
  }),
};

async function tokenFinding(
  cloud: Cloud,
  {
    key,
    said,
    thumbprint,
    means,
  }: { key: Parameters<typeof checkToken>[1]; said: string; thumbprint: string; means: string },
  signal: AbortSignal,
): Promise<Finding> {
  try {
    const { clockOffsetMs } = await unlessAborted(checkToken(cloud, key), signal);
    return good(`got one with ${said}; clock off by ${Math.round(clockOffsetMs / 1000)} s`);
  } catch (error) {
    signal.throwIfAborted();
    if (!isCode(error, 'cloud_unauthorized'))
      return failed({ seen: describe(error), means, advice: 'see "name server" and "line and TLS"' });
    return failed({
      seen: describe(error),
      means,
      advice: [
        `the key: the operator has to have the public half with the SHA-256 thumbprint ${thumbprint}, under ${said}`,
        `the client id: the operator has to know "${cloud.events.client_id}" (cloud.events.client_id)`,
        `the audience: "${cloud.audience ?? cloud.auth_url}" has to be, letter by letter, what the token server wants (cloud.audience)`,
        'the clock: see "clock" under "line and TLS"',
        '"siteward cloud registration" writes all of it for the operator',
      ],
    });
  }
}

/** Whether the site is there for the credentials of the partner interface, and whose it is. */
export const siteCheck: Check = {
  id: 'site',
  title: 'dealer and site in the cloud',
  patienceMs: 60_000,
  look: ofCloud(async (cloud, { file, settings }, signal) => {
    const { id: siteId, dealer_id: dealerId, external_id: here = '' } = settings?.site ?? {};
    if (cloud.partner === undefined) return [skipped('no partner access (cloud.partner)')];
    if (siteId === undefined || dealerId === undefined) return [skipped('site.id or site.dealer_id is not set')];
    const place = `site ${siteId} of dealer ${dealerId}`;
    await using access = openAccess({ config: file });
    try {
      const { value } = await access.manage.getSite({ params: { siteId, dealerId }, signal });
      const other = otherExternalId(value, here);
      if (other !== undefined)
        return [
          failed({
            seen: `${place} is ${JSON.stringify(other)} there, and this box is ${JSON.stringify(here)} (site.external_id)`,
            means: "devices, arming and contacts of this box are told to somebody else's site",
            advice:
              'correct site.id: "siteward site list" shows the sites with their external ids; then "systemctl reload siteward"',
          }),
        ];
      return [good(`${place}: ${JSON.stringify(value.name ?? '')}`)];
    } catch (error) {
      signal.throwIfAborted();
      return [failed({ ...siteAdvice(error, place), seen: `${place}: ${describe(error)}` })];
    }
  }),
};

function siteAdvice(error: unknown, place: string): { means: string; advice: string } {
  if (isCode(error, 'cloud_not_found'))
    return {
      means: 'nothing but events is done in the cloud; the site is protected',
      advice: `check site.id and site.dealer_id; if ${place} was deleted, create it anew: "siteward setup"`,
    };
  if (isCode(error, 'cloud_forbidden'))
    return {
      means: 'nothing but events is done in the cloud; the site is protected',
      advice: 'ask the operator whether the dealer is connected, and whether this client may see the site',
    };
  if (isCode(error, 'cloud_unauthorized'))
    return {
      means: 'arming, devices and contacts are not told to the cloud; events go on',
      advice: 'correct cloud.partner.client_id and its client_secret, then "systemctl reload siteward"',
    };
  return { means: waits, advice: 'see "name server" and "line and TLS"; siteward tries again by itself' };
}

/** Whether the cloud knows this bridge, its cameras and recorders as they are. */
export const devicesCheck: Check = {
  id: 'devices',
  title: 'devices in the cloud',
  look: ofCloud(async (_, { daemon: { status } }) => {
    if (status === undefined) return [noDaemon('siteward compares them')];
    const devices = status.cloud?.devices;
    if (devices === undefined) return [skipped('the cloud is not told of devices here')];
    // After a start, and with "cloud.devices: manual" until somebody asks.
    if (devices.state === 'away' && devices.reason === undefined) return [skipped('the cloud was not asked yet')];
    if (devices.state === 'in_step') return [good(`${devices.known} known, all as they are`)];
    return [
      warning({
        seen: `state ${devices.state}${devices.reason === undefined ? '' : `: ${devices.reason}`}`,
        means: 'the cloud knows a device otherwise than it is, or not at all; events go up all the same',
        advice: '"siteward device plan" says which, why, and what to do',
      }),
    ];
  }),
};
