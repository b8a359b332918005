import { SitewardError } from '#errors.ts';
import { descend, escapeXml, firstNamed, ownNamespace, textOf, type XmlElement } from '#lib/xml.ts';
import { type AddressMode, repairAddress } from './address.ts';
import type { Device, SoapCall } from './device.ts';
import { type Notification, readNotifications } from './notification.ts';
import { ns } from './soap.ts';
import { fieldTiming, type Timing } from './timing.ts';

/** A pull point at the camera. Plain data: it is remembered over a restart, to be closed then. */
export interface Subscription {
  /** Where we send to. */
  readonly url: string;
  /** What the camera calls it; goes into `wsa:To` (bug 39b). */
  readonly to: string;
  /** Reference parameters as ready XML, to be sent back with each request. */
  readonly parameters: readonly string[];
  /** How long it lives without a renewal. */
  readonly grantedMs: number;
}

/** How this camera wants to be asked; found out by trying and kept while the session lives. */
export interface Style {
  /**
   * WS-Addressing headers; some firmware answers them with a fault, some needs them, and calls the sender not authorized
   * without (bugs 13, 25): such a refusal says nothing about the password.
   */
  readonly addressing: boolean;
  /** Ends as durations or as points in time (bug 23). */
  readonly time: 'duration' | 'absolute';
}

/** In the order in which they are tried. */
export const styles: readonly Style[] = [
  { addressing: true, time: 'duration' },
  { addressing: false, time: 'duration' },
  { addressing: true, time: 'absolute' },
];

export interface Pulled {
  readonly messages: readonly Notification[];
  /** The answer had more than is taken of one. */
  readonly isPart: boolean;
}

const lifeMs = 180_000;
const messageLimit = 30;
/** Many cameras send more than they were asked for; beyond this all others would wait for them. */
const mostMessages = 1000;
/** A little less than the time the daemon gives a part to stop. */
const unsubscribeMs = 1500;

/** The four operations of a pull point. Each throws what `Device.call` throws. */
export interface PullPoint {
  create(eventService: URL, style: Style, signal: AbortSignal): Promise<Subscription>;
  pull(subscription: Subscription, style: Style, timeoutMs: number, signal: AbortSignal): Promise<Pulled>;
  /** Returns how long the subscription lives from now. */
  renew(subscription: Subscription, style: Style, signal: AbortSignal): Promise<number>;
  /** Asks for the present state of all properties; best effort (bug 15). */
  synchronise(subscription: Subscription, style: Style, signal: AbortSignal): Promise<void>;
  /** Ends within 2 s, whatever the camera does. */
  unsubscribe(subscription: Subscription, style: Style, signal: AbortSignal): Promise<void>;
}

export function pullPoint(
  device: Device,
  mode: AddressMode,
  timing: Pick<Timing, 'callMs' | 'pullGraceMs'> = fieldTiming,
): PullPoint {
  const end = (style: Style) =>
    style.time === 'duration' ? `PT${lifeMs / 1000}S` : new Date(device.clock.now() + lifeMs).toISOString();

  function call(
    operation: Operation,
    body: string,
    options: Pick<SoapCall, 'url' | 'to' | 'signal'> & Partial<SoapCall>,
  ): Promise<XmlElement> {
    const request = { name: operation, action: actions[operation], body, timeoutMs: timing.callMs, ...options };
    return device.call(request).then((reply) => reply.body);
  }

  const at = (subscription: Subscription, style: Style, signal: AbortSignal) => ({
    url: new URL(subscription.url),
    to: style.addressing ? { address: subscription.to, parameters: subscription.parameters } : undefined,
    optional: !style.addressing,
    signal,
  });

  return {
    async create(eventService, style, signal) {
      const body = `<e:CreatePullPointSubscription xmlns:e="${ns.events}"><e:InitialTerminationTime>${end(style)}</e:InitialTerminationTime></e:CreatePullPointSubscription>`;
      const to = style.addressing ? { address: eventService.href, parameters: [] } : undefined;
      const answer = await call('CreatePullPointSubscription', body, {
        url: eventService,
        to,
        optional: !style.addressing,
        signal,
      });
      expect(answer, 'CreatePullPointSubscriptionResponse');
      const reference = firstNamed(answer, 'SubscriptionReference');
      const reported = textOf(firstNamed(reference ?? answer, 'Address')).replace(/\s+/g, '');
      const url = repairAddress(reported, eventService, mode).href;
      return {
        url,
        to: URL.canParse(reported) ? reported : url,
        parameters: readParameters(reference),
        grantedMs: readLife(answer),
      };
    },
    async pull(subscription, style, timeoutMs, signal) {
      const body = `<e:PullMessages xmlns:e="${ns.events}"><e:Timeout>PT${seconds(timeoutMs)}S</e:Timeout><e:MessageLimit>${messageLimit}</e:MessageLimit></e:PullMessages>`;
      const answer = await call('PullMessages', body, {
        ...at(subscription, style, signal),
        timeoutMs: timeoutMs + timing.pullGraceMs,
        lane: 'pull',
      });
      expect(answer, 'PullMessagesResponse');
      const messages = readNotifications(answer, mostMessages + 1);
      return { messages: messages.slice(0, mostMessages), isPart: messages.length > mostMessages };
    },
    async renew(subscription, style, signal) {
      const body = `<n:Renew xmlns:n="${ns.wsnt}"><n:TerminationTime>${end(style)}</n:TerminationTime></n:Renew>`;
      return readLife(await call('Renew', body, { ...at(subscription, style, signal), optional: true }));
    },
    async synchronise(subscription, style, signal) {
      const body = `<e:SetSynchronizationPoint xmlns:e="${ns.events}"/>`;
      await call('SetSynchronizationPoint', body, { ...at(subscription, style, signal), optional: true });
    },
    async unsubscribe(subscription, style, signal) {
      const body = `<n:Unsubscribe xmlns:n="${ns.wsnt}"/>`;
      const short = AbortSignal.any([signal, AbortSignal.timeout(unsubscribeMs)]);
      await call('Unsubscribe', body, { ...at(subscription, style, short), optional: true, timeoutMs: unsubscribeMs });
    },
  };
}

const actions = {
  CreatePullPointSubscription: `${ns.events}/EventPortType/CreatePullPointSubscriptionRequest`,
  PullMessages: `${ns.events}/PullPointSubscription/PullMessagesRequest`,
  SetSynchronizationPoint: `${ns.events}/PullPointSubscription/SetSynchronizationPointRequest`,
  Renew: 'http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager/RenewRequest',
  Unsubscribe: 'http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager/UnsubscribeRequest',
} as const;
type Operation = keyof typeof actions;

/** Durations in whole seconds where possible: firmware that reads only those exists. */
const seconds = (ms: number) => Math.max(1, Math.round(ms / 1000));

function expect(answer: XmlElement, name: string) {
  if (answer.name === name) return;
  throw new SitewardError('camera_bad_answer', `The camera answered ${answer.name} where ${name} was due`, {
    facts: { name: answer.name, due: name },
  });
}

/** How long a subscription lives; what was asked for when the answer's times are missing, equal or unreadable (bugs 27, 29). */
function readLife(answer: XmlElement): number {
  const ends = Date.parse(textOf(firstNamed(answer, 'TerminationTime')));
  const now = Date.parse(textOf(firstNamed(answer, 'CurrentTime')));
  const life = ends - now;
  return Number.isFinite(life) && life >= 1000 ? life : lifeMs;
}

const maxParameters = 8;

function readParameters(reference: XmlElement | undefined): readonly string[] {
  const parent = descend(reference, 'ReferenceParameters') ?? descend(reference, 'ReferenceProperties');
  return parent?.children.slice(0, maxParameters).map((element) => writeParameter(element)) ?? [];
}

/** WS-Addressing 1.0, 3.4: each reference parameter comes back as a header of its own. */
function writeParameter(element: XmlElement): string {
  const content = escapeXml(textOf(element)) + element.children.map((child) => writeElement(child)).join('');
  return inItsNamespace(element, ` xmlns:a="${ns.wsa}" a:IsReferenceParameter="true"`, content);
}

function writeElement(element: XmlElement): string {
  const content = escapeXml(textOf(element)) + element.children.map((child) => writeElement(child)).join('');
  return inItsNamespace(element, '', content);
}

/** XML knows no prefix for no namespace. */
function inItsNamespace(element: XmlElement, mark: string, content: string): string {
  const { name } = element;
  const uri = ownNamespace(element);
  if (uri === '') return `<${name}${mark}>${content}</${name}>`;
  return `<p:${name} xmlns:p="${escapeXml(uri)}"${mark}>${content}</p:${name}>`;
}
