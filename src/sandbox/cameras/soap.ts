import { SaxesParser } from 'saxes';
import { escapeXml } from '#lib/xml.ts';

/** What a camera reads of a SOAP request. */
export interface SoapRequest {
  /** Local name of the first element of the body, such as `PullMessages`. */
  readonly operation: string;
  /** Its name space. */
  readonly namespace: string;
  readonly messageId: string | undefined;
  /** The action that was asked for (WS-Addressing). */
  readonly action: string | undefined;
  readonly security: UsernameToken | undefined;
  /** Trimmed text of the first element with this local name inside the operation. */
  text(name: string): string | undefined;
}

export interface UsernameToken {
  readonly username: string;
  readonly password: string;
  readonly passwordType: string;
  readonly nonce: string;
  readonly created: string;
}

/** Undefined when the text is not a SOAP envelope with an operation. Document types are refused. */
export function readSoap(xml: string): SoapRequest | undefined {
  const texts = new Map<string, string>();
  const path: string[] = [];
  const seen = { operation: '', namespace: '', passwordType: '', doctype: false };
  const parser = new SaxesParser({ xmlns: true });
  parser.on('doctype', () => {
    seen.doctype = true;
  });
  parser.on('opentag', (tag) => {
    path.push(tag.local);
    if (path.length === 3 && path[1] === 'Body' && seen.operation === '') {
      seen.operation = tag.local;
      seen.namespace = tag.uri;
    }
    if (path.includes('UsernameToken') && tag.local === 'Password')
      seen.passwordType = tag.attributes.Type?.value ?? '';
  });
  const take = (text: string) => {
    const key = `${path[1]}/${path.at(-1)}`;
    if (text.trim() !== '' && !texts.has(key)) texts.set(key, text.trim());
  };
  parser.on('text', take);
  parser.on('cdata', take);
  parser.on('closetag', () => void path.pop());
  try {
    parser.write(xml).close();
  } catch {
    return undefined;
  }
  if (seen.operation === '' || seen.doctype) return undefined;
  const header = (name: string) => texts.get(`Header/${name}`);
  const username = header('Username');
  return {
    operation: seen.operation,
    namespace: seen.namespace,
    messageId: header('MessageID'),
    action: header('Action'),
    security:
      username === undefined
        ? undefined
        : {
            username,
            password: header('Password') ?? '',
            passwordType: seen.passwordType,
            nonce: header('Nonce') ?? '',
            created: header('Created') ?? '',
          },
    text: (name) => texts.get(`Body/${name}`),
  };
}

const namespaces = [
  'xmlns:s="http://www.w3.org/2003/05/soap-envelope"',
  'xmlns:wsa="http://www.w3.org/2005/08/addressing"',
  'xmlns:tt="http://www.onvif.org/ver10/schema"',
  'xmlns:tds="http://www.onvif.org/ver10/device/wsdl"',
  'xmlns:trt="http://www.onvif.org/ver10/media/wsdl"',
  'xmlns:tev="http://www.onvif.org/ver10/events/wsdl"',
  'xmlns:wsnt="http://docs.oasis-open.org/wsn/b-2"',
  'xmlns:wstop="http://docs.oasis-open.org/wsn/t-1"',
  'xmlns:tns1="http://www.onvif.org/ver10/topics"',
  'xmlns:ter="http://www.onvif.org/ver10/error"',
  'xmlns:xs="http://www.w3.org/2001/XMLSchema"',
].join(' ');

/** `body` is XML. A request with a message id gets the WS-Addressing headers of its answer. */
export function envelope(body: string, request?: Pick<SoapRequest, 'messageId' | 'action' | 'operation'>): string {
  const header = request?.messageId === undefined ? '' : addressing(request, request.messageId);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<s:Envelope ${namespaces}>${header}<s:Body>${body}</s:Body></s:Envelope>`;
}

/** By the rule of WS-Addressing the answer's action is the request's with another ending. */
function addressing(request: Pick<SoapRequest, 'action' | 'operation'>, messageId: string): string {
  const action = `${(request.action ?? request.operation).replace(/Request$/, '')}Response`;
  return (
    `<s:Header><wsa:Action>${escapeXml(action)}</wsa:Action>` +
    `<wsa:RelatesTo>${escapeXml(messageId)}</wsa:RelatesTo></s:Header>`
  );
}

/** A refusal in SOAP: HTTP status, who is to blame, ONVIF subcodes from outer to inner, words. */
export interface Fault {
  readonly status: number;
  readonly code: 'Sender' | 'Receiver';
  readonly subcodes: readonly string[];
  readonly reason: string;
}

export const fault = (status: number, code: Fault['code'], subcodes: readonly string[], reason: string): Fault => ({
  status,
  code,
  subcodes,
  reason,
});

export function faultXml(what: Fault): string {
  const inner = what.subcodes.reduceRight(
    (rest, code) => `<s:Subcode><s:Value>${code}</s:Value>${rest}</s:Subcode>`,
    '',
  );
  return envelope(
    `<s:Fault><s:Code><s:Value>s:${what.code}</s:Value>${inner}</s:Code>` +
      `<s:Reason><s:Text xml:lang="en">${escapeXml(what.reason)}</s:Text></s:Reason></s:Fault>`,
  );
}

export const notAuthorized = fault(400, 'Sender', ['ter:NotAuthorized'], 'Sender not authorized');
export const notSupported = (operation: string): Fault =>
  fault(400, 'Receiver', ['ter:ActionNotSupported'], `${operation} is not an operation of this camera`);

/** Seconds without fraction and a Z, as cameras write time. */
export const isoTime = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** `PT1M30S` in milliseconds; undefined for anything else. */
export function durationMs(text: string): number | undefined {
  const match = /^P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?$/.exec(text);
  if (match === null || !/\d/.test(text)) return undefined;
  const [days, hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
  ];
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000;
}
