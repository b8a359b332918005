import { stat } from 'node:fs/promises';
import { parse } from 'yaml';
import { readKey } from '#cloud/client/index.ts';
import { describe, isCode } from '#errors.ts';
import { given } from '#lib/given.ts';
import { applicationOf, applicationText } from '../cloud/application.ts';
import { type FoundKey, publicHalf, registrationKey, writtenKey } from '../cloud/keys.ts';
import { checkToken } from '../cloud/token.ts';
import { type SiteFile, secretOwner } from '../site-file.ts';
import { shownUrl } from './shown.ts';
import { type Context, type NotNow, noCloud, open, type Plan, type Step, skipped } from './types.ts';

/** The key for events, its registration, and what the operator gave for it. */
export const keyStep: Step = {
  id: 'key',
  title: 'Key for events, and its registration with the operator',
  needs: ['site'],
  later: 'siteward cloud registration, then the section cloud of the configuration (docs/commissioning.md)',
  async isDone(context) {
    const site = context.site();
    const { cloud } = site.settings;
    if (cloud === undefined) return { isDone: false, words: 'the configuration has no cloud yet' };
    const key = await judged(site);
    if ('wrong' in key) return { isDone: false, words: key.wrong };
    const words = `client ${cloud.events.client_id} at ${cloud.auth_url}; the key is that of ${key.place}, thumbprint ${key.thumbprint}`;
    const other = Object.keys(otherwise(context));
    return other.length === 0
      ? { isDone: true, words }
      : { isDone: false, words: `${words}; the answers have another ${other.join(', ')}` };
  },
  async ask(context) {
    const { talk, answers, dryRun, config } = context;
    if (context.site().settings.cloud !== undefined) return await mend(context);
    if (!talk.isThere && Object.keys(answers.cloud).length === 0) return skipped('the answers name no cloud');
    const found = dryRun ? undefined : await registrationKey(config);
    if (found !== undefined && (talk.isThere || answers.cloud.client_id === undefined)) {
      talk.say('  The operator of the service asks for this (siteward cloud registration writes it into a file):\n');
      talk.say(applicationText(await applicationOf({ key: found.key, settings: context.site().settings })));
    }
    const { base_url, auth_url, client_id } = await told(context);
    if (client_id === 'none') return skipped('siteward works on its own');
    const missing = Object.entries({ base_url, auth_url, client_id }).filter(([, value]) => !value);
    if (missing.length > 0 || !base_url || !auth_url || !client_id)
      return open(
        `${found?.made === true ? madeText(found) : registrationText}. He names what is missing: ${missing.map(([key]) => `cloud.${key}`).join(', ')}`,
      );
    return {
      would: `write the cloud ${base_url} with the client ${client_id} into ${config}`,
      values: [
        `service ${shownUrl(base_url)}`,
        `token server ${shownUrl(auth_url)}`,
        `client ${client_id}`,
        `key ${found?.place ?? 'made then'}`,
      ],
      async run() {
        const words = await writeCloud(context, { base_url, auth_url, client_id }, found?.path);
        return found?.made === true ? `${words}; ${madeText(found)}` : words;
      },
    };
  },
};

const registrationText =
  'give the registration of the key to the operator: "siteward cloud registration" writes it into a file';

/** A key of which nobody was told would only be refused. */
const madeText = ({ place }: FoundKey): string =>
  `a key for events was made (${place}), which the operator does not know yet: ${registrationText}`;

interface GoodKey {
  readonly place: string;
  /** RFC 7638, as the registration shows it. */
  readonly thumbprint: string;
}

/** Whether the key is there, signs, and can be read by the service, not only by whoever runs this. */
async function judged(site: SiteFile): Promise<GoodKey | { readonly wrong: string }> {
  try {
    const found = writtenKey(site, 'current');
    if (found === undefined) return { wrong: 'cloud.events.private_key names no key' };
    readKey(found.key);
    const { uid } = await secretOwner(site);
    const now = found.path === undefined ? undefined : await stat(found.path);
    if (now !== undefined && process.getuid?.() === 0 && now.uid !== uid && uid !== 0)
      return { wrong: `the service may not read the key: run "chown ${uid} ${found.path}"` };
    return { place: found.place, thumbprint: (await publicHalf(found.key)).thumbprint };
  } catch (error) {
    if (!isCode(error, 'secret_unreadable') && !isCode(error, 'cloud_unauthorized')) throw error;
    return { wrong: describe(error) };
  }
}

/** What the answers want otherwise than the section `cloud` has it. A key id stays: `siteward cloud rotate-key` may have changed it. */
function otherwise({ site, answers }: Context): Readonly<Record<string, unknown>> {
  const { base_url, auth_url, ext_base_url, audience, client_id, key_id, api_key_file } = answers.cloud;
  const now = (parse(site().text, { logLevel: 'silent' }) as { cloud: Written }).cloud;
  const events = given({
    client_id: client_id === now.events.client_id ? undefined : client_id,
    key_id: now.events.key_id === undefined ? key_id : undefined,
  });
  const members = given({ base_url, auth_url, ext_base_url, audience });
  const changed = Object.entries(members).filter(([name, value]) => now[name] !== value);
  const isSameKey = api_key_file === undefined || now.api_key?.file === api_key_file;
  return {
    ...Object.fromEntries(changed),
    ...(Object.keys(events).length > 0 && { events: { ...now.events, ...events } }),
    ...(!isSameKey && { api_key: { file: api_key_file } }),
  };
}

interface Written extends Readonly<Record<string, unknown>> {
  readonly events: Readonly<Record<string, unknown>>;
  readonly api_key?: { readonly file?: string };
}

/** Of a configuration that has a cloud. Another key is for a person to make: the operator has to be given it. */
async function mend(context: Context): Promise<Plan | NotNow> {
  const key = await judged(context.site());
  if ('wrong' in key)
    return open(
      `${key.wrong}. Put the file back, or make another key by calling "siteward cloud rotate-key" twice: its registration goes to the operator`,
    );
  const members = otherwise(context);
  return {
    would: `change ${Object.keys(members).join(', ')} of the cloud`,
    values: Object.entries(members).map(([name, value]) => `${name}: ${shownMember(value)}`),
    async run() {
      await context.change([{ do: 'set', section: 'cloud', members }]);
      return `changed: ${Object.keys(members).join(', ')} of the cloud`;
    },
  };
}

/** Of `events` and `api_key` what is no secret. */
function shownMember(value: unknown): string {
  if (typeof value === 'string') return URL.canParse(value) ? shownUrl(value) : value;
  const { client_id, key_id, file } = value as Readonly<Record<string, unknown>>;
  const parts = Object.entries(given({ client_id, key_id, file }));
  return parts.map(([name, one]) => `${name} ${one}`).join(', ');
}

async function told({ answers: { cloud }, talk }: Context) {
  const url = { check: (text: string) => (URL.canParse(text) ? undefined : 'write it as https://api.example.net') };
  const client_id =
    cloud.client_id ??
    (await talk.ask({
      text: '  client id that the operator gave; nothing if it is not there yet, none to work without a cloud',
      help: 'he gives it once he has the public key of this box; events are sent under it',
    }));
  if (client_id === undefined || client_id === '' || client_id === 'none')
    return { client_id, base_url: cloud.base_url, auth_url: cloud.auth_url };
  const base_url = cloud.base_url ?? (await talk.ask({ text: '  address of the service', ...url }));
  const auth_url =
    cloud.auth_url ?? (await talk.ask({ text: '  address of its token server', initial: base_url, ...url }));
  return { client_id, base_url, auth_url };
}

async function writeCloud(
  context: Context,
  { client_id, ...urls }: { base_url: string; auth_url: string; client_id: string },
  keyFile: string | undefined,
): Promise<string> {
  const { ext_base_url, audience, key_id, api_key_file } = context.answers.cloud;
  const members = given({
    ...urls,
    ext_base_url,
    audience,
    events: given({ client_id, private_key: { file: keyFile }, key_id }),
    api_key: api_key_file === undefined ? undefined : { file: api_key_file },
  });
  await context.change([{ do: 'set', section: 'cloud', members }]);
  return `the cloud ${urls.base_url} is in the configuration`;
}

/** Whether the operator knows the key. */
export const tokenStep: Step = {
  id: 'token',
  title: 'Access token for events',
  needs: ['key', 'network'],
  later: 'siteward api jwt-bearer-token',
  async isDone(context) {
    const site = context.site();
    const [{ cloud }, key] = [site.settings, writtenKey(site, 'current')?.key];
    if (cloud === undefined || key === undefined) return { isDone: false, words: 'there is no key to ask with' };
    try {
      await checkToken(cloud, key);
      return { isDone: true, words: `the token server gave one to ${cloud.events.client_id}` };
    } catch (error) {
      if (!isCode(error, 'cloud_unauthorized') && !isCode(error, 'cloud_unreachable')) throw error;
      return { isDone: false, words: describe(error) };
    }
  },
  ask: async (context) => noCloud(context) ?? open(`${(await tokenStep.isDone(context)).words}; then run this again`),
};
