import { randomUUID } from 'node:crypto';
import { connectAsync } from 'mqtt';
import { eventually } from '#sandbox/demo/processes.ts';
import type { CloudProcess } from '../harness/cloud.ts';
import { code, type Site } from '../harness/site.ts';
import type { Random } from '../proof/random.ts';
import type { Answered } from './history.ts';

const place = { dealer_id: 17, site_id: 4711 };
const contact = 7;
const partnerSecret = 'correct horse battery';
const platformPassword = 'platform-Pa55-zebra-quartz';
/** Time passes by hours there: they last a day, as long as the sandbox allows. */
const lifeS = 86_400;

/** What the configuration needs so that alarms can be verified. */
export const verifying = {
  siteYaml: `id: "${place.site_id}", dealer_id: "${place.dealer_id}", security_type: 1`,
  cloudYaml: '  partner: { client_id: partner-9, client_secret: { env: PARTNER } }\n',
  yaml: `verification: { contacts: [ { user: anna, contact_id: ${contact} } ] }\n`,
  env: { PARTNER: partnerSecret, PLATFORM: platformPassword },
  /** Of the embedded broker, where only the role of a platform hands requests on. */
  mqttYaml: ', clients: [ { id: platform-1, role: platform, password: { env: PLATFORM } } ]',
} as const;

/** The site at the service, with somebody who may be asked. */
export async function registerSite(cloud: Pick<CloudProcess, 'control'>): Promise<void> {
  const name = { first_name: 'Ada', last_name: 'Byron', phone_number: '+49 30 5550100' };
  const contacts = [{ contact_id: contact, external_contact_id: 'contact-7', ...name }];
  const site = {
    site_id: place.site_id,
    external_site_id: 'proof',
    is_activated: 1,
    name: 'Proof',
    timezone: 'Europe/Berlin',
    contacts,
  };
  const dealer = { dealer_id: place.dealer_id, external_dealer_id: 'verifying', sites: [site] };
  await cloud.control('dealers', { method: 'POST', body: dealer });
  await cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: partnerSecret } });
}

/** What the service has recorded, by the id of the request. */
export async function answersOf(cloud: Pick<CloudProcess, 'control'>): Promise<ReadonlyMap<string, string | null>> {
  const { verifications } = (await cloud.control('verifications')) as {
    verifications: { verification_id: string; answer: { action: string } | null }[];
  };
  return new Map(verifications.map((one) => [one.verification_id, one.answer?.action ?? null]));
}

/** The partner platform at the site, and a contact who answers. */
export async function openPlatform(site: Site, isEmbedded: boolean, now: () => number) {
  const login = isEmbedded ? { username: 'platform-1', password: platformPassword } : {};
  const client = await connectAsync(site.mqttUrl, { clientId: 'platform-1', reconnectPeriod: 200, ...login });
  const taken = new Set<string>();
  client.on('error', () => undefined);
  client.on('message', (_, payload) => {
    const reply = JSON.parse(payload.toString()) as { outcome: string; correlation?: string };
    if (/^(?:done|already|accepted)$/.test(reply.outcome)) taken.add(reply.correlation ?? '');
  });
  const reply_to = `${site.root}/reply/platform-1/x`;
  await client.subscribeAsync(reply_to, { qos: 1 });

  return {
    /** The service asks whether it was an alarm, and somebody with a code says; resolves when siteward has the answer. */
    async verify(random: Random): Promise<Answered> {
      const body = { ...place, contact_id: contact, expires_in: lifeS };
      const asked = await site.cloud.control('verifications', { method: 'POST', body });
      const { verification_id } = asked as { verification_id: string };
      const expires_at = new Date(now() + (lifeS - 60) * 1000).toISOString();
      const correlation = randomUUID();
      const request = { verification_id, contact_id: contact, expires_at, reply_to, correlation };
      await eventually(
        `the request ${verification_id} is taken`,
        async () => {
          await client.publishAsync(`${site.root}/in/verification`, JSON.stringify(request), { qos: 1 });
          return taken.has(correlation) ? true : undefined;
        },
        { timeoutMs: 120_000, everyMs: 1000 },
      );
      const action = random.pick(['dispatch', 'disregard'] as const);
      await eventually(
        `the answer to ${verification_id} is taken`,
        async () => {
          const issued_at = new Date(now()).toISOString();
          const { outcome } = await site.lan.ask('verify', { verification_id, action, code, issued_at }, 60_000);
          return outcome === 'done' || outcome === 'already' ? true : undefined;
        },
        { timeoutMs: 150_000, everyMs: 1000 },
      );
      return { verification_id, action };
    },
    close: () => client.endAsync(true),
  };
}
