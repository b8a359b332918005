import { createHash, randomBytes } from 'node:crypto';
import { SitewardError } from '#errors.ts';
import {
  descend,
  escapeXml,
  firstNamed,
  parseXml,
  textOf,
  type XmlElement,
  type XmlLimits,
  xmlLimits,
} from '#lib/xml.ts';

export const ns = {
  soap: 'http://www.w3.org/2003/05/soap-envelope',
  wsa: 'http://www.w3.org/2005/08/addressing',
  wsnt: 'http://docs.oasis-open.org/wsn/b-2',
  device: 'http://www.onvif.org/ver10/device/wsdl',
  events: 'http://www.onvif.org/ver10/events/wsdl',
  topics: 'http://www.onvif.org/ver10/topics',
} as const;

const wsse = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd';
const wsu = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd';
const token = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest';
const encoding = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary';

/** An envelope around a body; the headers are ready XML. */
export function envelope(body: string, headers: readonly string[] = []): string {
  const header = headers.length === 0 ? '' : `<s:Header>${headers.join('')}</s:Header>`;
  return `<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="${ns.soap}">${header}<s:Body>${body}</s:Body></s:Envelope>`;
}

/** The WS-UsernameToken header with a password digest. `created` is the camera's time, milliseconds since 1970. */
export function usernameToken(options: {
  username: string;
  password: string;
  created: number;
  nonce?: Buffer;
}): string {
  const nonce = options.nonce ?? randomBytes(16);
  const created = new Date(options.created).toISOString();
  const digest = createHash('sha1').update(nonce).update(created).update(options.password, 'utf8').digest('base64');
  return (
    `<wsse:Security xmlns:wsse="${wsse}" xmlns:wsu="${wsu}"><wsse:UsernameToken>` +
    `<wsse:Username>${escapeXml(options.username)}</wsse:Username>` +
    `<wsse:Password Type="${token}">${digest}</wsse:Password>` +
    `<wsse:Nonce EncodingType="${encoding}">${nonce.toString('base64')}</wsse:Nonce>` +
    `<wsu:Created>${created}</wsu:Created></wsse:UsernameToken></wsse:Security>`
  );
}

/** The WS-Addressing headers of a request, with the reference parameters of its endpoint. */
export function addressing(options: {
  action: string;
  to: string;
  messageId: string;
  parameters?: readonly string[];
}): string {
  return (
    `<a:Action xmlns:a="${ns.wsa}">${escapeXml(options.action)}</a:Action>` +
    `<a:MessageID xmlns:a="${ns.wsa}">urn:uuid:${options.messageId}</a:MessageID>` +
    `<a:ReplyTo xmlns:a="${ns.wsa}"><a:Address>${ns.wsa}/anonymous</a:Address></a:ReplyTo>` +
    `<a:To xmlns:a="${ns.wsa}">${escapeXml(options.to)}</a:To>${(options.parameters ?? []).join('')}`
  );
}

/** A fault as the camera wrote it. */
export interface Fault {
  readonly reason: string;
  /** Local names of the codes, outer first: "Sender", "NotAuthorized". */
  readonly codes: readonly string[];
}

/** What a camera answered: the first element of the body, or a fault. */
type Answer = { readonly body: XmlElement } | { readonly fault: Fault };

/**
 * Reads an answer. Throws `camera_bad_answer`, with the HTTP status in the facts, for everything that is no SOAP envelope
 * with something in its body.
 */
export function readAnswer(
  status: number,
  bytes: Uint8Array,
  limits: Pick<XmlLimits, 'maxBytes'> & Partial<XmlLimits>,
  contentType = '',
): Answer {
  let root: XmlElement;
  try {
    root = parseXml(bytes, { ...xmlLimits, ...limits }, charsetOf(contentType));
  } catch (cause) {
    throw badAnswer(status, bytes.length === 0 ? 'an empty answer' : 'something that is not ONVIF', cause);
  }
  const body = root.name === 'Envelope' ? descend(root, 'Body') : undefined;
  const first = body?.children[0];
  if (first === undefined) throw badAnswer(status, 'something that is not ONVIF');
  return first.name === 'Fault' ? { fault: readFault(first) } : { body: first };
}

const charsetOf = (contentType: string): string | undefined =>
  /;\s*charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(contentType.slice(0, 500))?.[1];

function badAnswer(status: number, what: string, cause?: unknown): SitewardError {
  return new SitewardError('camera_bad_answer', `The camera answered with ${what} (HTTP ${status})`, {
    facts: { status },
    ...(cause !== undefined && { cause }),
  });
}

/** SOAP 1.2 (Code/Value, Subcode, Reason/Text) and SOAP 1.1 (faultcode, faultstring). */
function readFault(fault: XmlElement): Fault {
  const codes: string[] = [];
  for (let code = descend(fault, 'Code'); code !== undefined && codes.length < 8; code = descend(code, 'Subcode')) {
    codes.push(localPart(textOf(descend(code, 'Value'))));
  }
  const old = textOf(firstNamed(fault, 'faultcode'));
  if (old !== '') codes.push(localPart(old));
  const reason =
    textOf(descend(fault, 'Reason', 'Text')) ||
    textOf(firstNamed(fault, 'faultstring')) ||
    textOf(descend(fault, 'Detail', 'Text'));
  return { reason: reason.slice(0, 200), codes: codes.filter((code) => code !== '') };
}

const localPart = (name: string) => name.slice(name.lastIndexOf(':') + 1).slice(0, 80);

/** The camera did not accept who asks. `not authorized` in the text counts: some firmware gives no code. */
export const isRefusal = (fault: Fault): boolean =>
  fault.codes.some((code) =>
    /^(NotAuthorized|FailedAuthentication|InvalidSecurity|OperationProhibited)$/i.test(code),
  ) || /not ?authori[sz]ed|authority failure|authentication failed|time check failed/i.test(fault.reason);

/** The camera has no room for one more subscription. */
const isFull = (fault: Fault): boolean =>
  fault.codes.some((code) => /limit|MaxReached|TooMany|MaxPullPoints/i.test(code)) ||
  /too many|max.{0,20}(pull|subscri)|limit/i.test(fault.reason);

export function faultError(fault: Fault, action: string, status: number): SitewardError {
  const text = [fault.codes.at(-1), fault.reason].filter((part) => part !== undefined && part !== '').join(', ');
  const full = isFull(fault);
  const hint = full ? '; all its event subscriptions are taken, perhaps by another client' : '';
  return new SitewardError('camera_fault', `The camera refused ${action}: ${text || 'no reason given'}${hint}`, {
    facts: { action, status, code: fault.codes.at(-1) ?? null, reason: fault.reason, full },
  });
}
