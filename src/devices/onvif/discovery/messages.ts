import { randomUUID } from 'node:crypto';
import { descend, everyNamed, namespaceOf, parseXml, textOf, type XmlElement } from '#lib/xml.ts';

/** One question to send: the datagram, and by what its answers are known. */
export interface Probe {
  /** Lower case, without `uuid:`. */
  readonly id: string;
  readonly bytes: Buffer;
}

const discovery = 'http://schemas.xmlsoap.org/ws/2005/04/discovery';
const addressing = 'http://schemas.xmlsoap.org/ws/2004/08/addressing';
const network = 'http://www.onvif.org/ver10/network/wsdl';
const device = 'http://www.onvif.org/ver10/device/wsdl';

/** Recorders and newer cameras answer to Device only, old ones to NetworkVideoTransmitter only, some to no type at all. */
const questions = [
  `<d:Types xmlns:n="${network}">n:NetworkVideoTransmitter</d:Types>`,
  `<d:Types xmlns:t="${device}">t:Device</d:Types>`,
  '',
];

/** Every question with both forms of the message id: firmware exists that knows only one of them (bug 62). */
export function probes(): readonly Probe[] {
  return ['urn:uuid:', 'uuid:'].flatMap((form) =>
    questions.map((types) => {
      const id = randomUUID();
      return { id, bytes: Buffer.from(probeText(`${form}${id}`, types)) };
    }),
  );
}

const probeText = (messageId: string, types: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="${addressing}" xmlns:d="${discovery}">` +
  `<s:Header><a:Action s:mustUnderstand="1">${discovery}/Probe</a:Action><a:MessageID>${messageId}</a:MessageID>` +
  `<a:ReplyTo><a:Address>${addressing}/role/anonymous</a:Address></a:ReplyTo>` +
  `<a:To s:mustUnderstand="1">urn:schemas-xmlsoap-org:ws:2005:04:discovery</a:To></s:Header>` +
  `<s:Body><d:Probe>${types}</d:Probe></s:Body></s:Envelope>`;

/** What a device says of itself, everything still as it wrote it. */
export interface Match {
  /** Endpoint reference in one spelling; empty when there is none. */
  readonly endpoint: string;
  readonly scopes: readonly string[];
  readonly xaddrs: readonly string[];
  /** By its types it keeps recordings. */
  readonly records: boolean;
}

export type Answer =
  | { readonly kind: 'matches'; readonly relatesTo: string | undefined; readonly matches: readonly Match[] }
  /** The question was refused: a device that speaks WS-Discovery lives there (bug 62). */
  | { readonly kind: 'fault'; readonly relatesTo: string | undefined };

/** A datagram is 64 KiB at most; what is deeper or richer than this is no answer to a probe. */
const limits = { maxBytes: 65_536, maxDepth: 32, maxNodes: 4000 };
const maxMatches = 64;

/** Reads one datagram; undefined for what is no answer. Never throws. Printers, NAS and the like are left out (bug 60). */
export function readAnswer(bytes: Uint8Array): Answer | undefined {
  let root: XmlElement;
  try {
    root = parseXml(bytes, limits);
  } catch {
    return undefined;
  }
  if (root.name !== 'Envelope') return undefined;
  const related = plainUuid(textOf(descend(root, 'Header', 'RelatesTo')));
  const relatesTo = related === '' ? undefined : related;
  const body = descend(root, 'Body');
  if (body === undefined) return undefined;
  if (descend(body, 'Fault') !== undefined) return { kind: 'fault', relatesTo };
  if (descend(body, 'ProbeMatches') === undefined) return undefined;
  const matches: Match[] = [];
  for (const element of everyNamed(body, 'ProbeMatch')) {
    if (matches.length >= maxMatches) break;
    if (isVideo(element)) matches.push(readMatch(element));
  }
  return { kind: 'matches', relatesTo, matches };
}

/** `urn:uuid:8ECE…` and `uuid:8ece…` name one thing. */
const plainUuid = (text: string): string =>
  text
    .replaceAll(/\s+/g, '')
    .replace(/^(?:urn:)?(?:uuid:)?/i, '')
    .toLowerCase()
    .slice(0, 100);

const readMatch = (element: XmlElement): Match => ({
  endpoint: plainUuid(textOf(descend(element, 'EndpointReference', 'Address'))),
  scopes: words(descend(element, 'Scopes'), 64),
  xaddrs: words(descend(element, 'XAddrs'), 16),
  records: words(descend(element, 'Types'), 32).some((type) => type.endsWith('NetworkVideoStorage')),
});

const words = (element: XmlElement | undefined, most: number): readonly string[] =>
  textOf(element)
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, most)
    .map((word) => word.slice(0, 500));

/** ONVIF by type or by scope. Windows' own `Device` type is that of printers and has another namespace. */
function isVideo(element: XmlElement): boolean {
  if (words(descend(element, 'Scopes'), 64).some((scope) => /^onvif:\/\/www\.onvif\.org\//i.test(scope))) return true;
  const types = descend(element, 'Types');
  return types !== undefined && words(types, 32).some((type) => isVideoType(types, type));
}

function isVideoType(element: XmlElement, type: string): boolean {
  const [prefix = '', name = ''] = type.includes(':') ? type.split(':') : ['', type];
  if (/^NetworkVideo(Transmitter|Storage|Analytics)$/.test(name)) return true;
  const uri = namespaceOf(element, prefix);
  return name === 'Device' && (uri === device || (uri === undefined && prefix === 'tds'));
}
