import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { partnerPlace } from '#box/partner.ts';
import { type AnswerSender, createAnswerSender } from '#cloud/verification/index.ts';
import type { Settings } from '#config/index.ts';
import { never } from '#lib/wait.ts';
import type { AnswerResult, ContactDoubt, HandedRequest, VerificationsPort } from '#site/model/index.ts';
import { type Contacts, createVerifications, type Verifications } from '#site/verification/index.ts';
import { cloudClient } from './cloud.ts';
import { type House, running, type Surroundings } from './house.ts';

/** What the parts below are made of. */
export const verificationWants = (settings: Settings) => {
  const { verification, store, cloud, site, mqtt } = settings;
  return {
    verifications: [verification, store, unsendable(settings), mqtt.broker, mqtt.clients],
    answers: [cloud, site.id, site.dealer_id],
  };
};

/** Alarm verifications of the site. */
export function siteVerifications(
  settings: Settings,
  metrics: Registry,
  { house, clock, quality, log }: Surroundings,
): Verifications {
  return createVerifications({
    store: running(house, 'store'),
    submit: (command, reply) => running(house, 'controller').submit(command, reply),
    checkCode: async (code) => running(house, 'codes').check(code),
    contacts: contactsOf(settings),
    unsendable: unsendable(settings),
    onChange() {
      house.lan?.verificationsChanged();
      house.answers?.wake();
    },
    clock,
    quality: quality.current,
    log: log('verifications'),
    metrics,
  });
}

/** Sends the answers, over connections of its own; undefined where they cannot reach the service. */
export function answerSender(
  settings: Settings,
  metrics: Registry,
  { house, clock, quality, log }: Surroundings,
): AnswerSender | undefined {
  const way = partnerPlace(settings);
  if (typeof way === 'string') return undefined;
  const { section, place } = way;
  const cloud = cloudClient(section, { clock, quality, log: log('cloud') });
  const sender = createAnswerSender({
    api: cloud.api,
    tokens: cloud.partnerTokens,
    call: section.dialect.verification_call,
    place,
    answers: {
      outgoing: () => house.verifications?.outgoing() ?? [],
      settle: (sent, told) => house.verifications?.settle(sent, told),
    },
    clock,
    log: log('answers'),
    metrics,
  });
  return {
    ...sender,
    async stop() {
      await sender.stop();
      await cloud.close();
    },
  };
}

/** For the rooms of the LAN, whichever part serves at the moment. */
export function verificationsPort(house: House, log: Logger): VerificationsPort {
  const verifications = () => running(house, 'verifications');
  return {
    list: () => house.verifications?.list() ?? [],
    async ask(request, from) {
      const doubt = await doubtOf(house, request);
      if (doubt === 'CONTACT_UNKNOWN') return { outcome: 'refused', code: 'UNKNOWN_TARGET', field: 'contact_id' };
      const result = await verifications().ask(request, from);
      if (doubt === undefined || 'code' in result) return result;
      log.warn({ contact_id: request.contact_id }, `a request to verify an alarm was taken: ${doubtful[doubt]}`);
      return { ...result, warning: doubt };
    },
    answer: async (given, reply) =>
      verifications().answer(given, (result) => {
        const warning = answerDoubt(house, result);
        if (warning !== undefined && result.final)
          log.warn(
            { verification: given.verificationId },
            `an answer to verify an alarm was taken: ${doubtful[warning]}`,
          );
        reply(warning === undefined ? result : { ...result, warning });
      }),
  };
}

const doubtful: Readonly<Record<ContactDoubt, string>> = {
  CONTACT_UNKNOWN: 'the service lists no such contact, so that it may refuse it; mend verification.contacts',
  CONTACT_UNSURE:
    'nobody knows whether the service has this contact: its contacts were not read within a day, or not all of them',
};

/**
 * The contact must be one the service has. A list that is too old to be sure refuses nothing, and a request that
 * is known already changes nothing.
 */
async function doubtOf(house: House, request: HandedRequest): Promise<ContactDoubt | undefined> {
  const { verification_id: id, contact_id: contact } = request;
  if (house.mirror === undefined || house.verifications?.list().some((one) => one.verification_id === id.toLowerCase()))
    return undefined;
  return doubts[await house.mirror.knows(String(contact), never())];
}

/**
 * An answer goes up whatever is known of its contact, and at once: the service has the last word, and a list that is kept here may be
 * old. Of an answer that nobody sees there is no document, and so no doubt (safety 4).
 */
function answerDoubt({ mirror }: House, { document, error }: AnswerResult): ContactDoubt | undefined {
  const contact = document?.answers.at(-1)?.contact_id;
  return mirror === undefined || contact === undefined || error !== undefined
    ? undefined
    : doubts[mirror.knowsNow(String(contact))];
}

const doubts = { known: undefined, unknown: 'CONTACT_UNKNOWN', unsure: 'CONTACT_UNSURE' } as const;

/** Why no answer can reach the service. */
function unsendable(settings: Settings): string | undefined {
  const way = partnerPlace(settings);
  return typeof way === 'string' ? way : undefined;
}

/** A client answers without a code only where its name is proven and its role is that of a guard. */
function contactsOf({ verification, mqtt }: Settings): Contacts {
  const guards = mqtt.broker === 'embedded' ? mqtt.clients.filter(({ role }) => role === 'guard') : [];
  const isGuard = (name: string) => guards.some(({ id }) => id === name);
  const find = (member: 'user' | 'client', name: string) =>
    verification.contacts.find((one) => one[member] === name)?.contact_id;
  return {
    ofUser: (id) => find('user', id),
    ofClient: (name) => (isGuard(name) ? find('client', name) : undefined),
  };
}
