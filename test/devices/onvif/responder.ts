import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** One question as it came in. */
export interface Heard {
  readonly text: string;
  /** As written, with `urn:uuid:` or `uuid:`. */
  readonly messageId: string;
  /** `NetworkVideoTransmitter`, `Device` or empty. */
  readonly types: string;
  readonly from: RemoteInfo;
}

/** A device for tests that answers WS-Discovery by script and remembers every question. */
export interface Responder {
  readonly port: number;
  readonly heard: Heard[];
  close(): Promise<void>;
}

/**
 * @param script what is sent back to a question, one text or bytes per datagram
 */
export async function startResponder(
  script: (question: Heard) => readonly (string | Uint8Array)[],
  options: { family?: 'udp4' | 'udp6'; port?: number; groups?: readonly (readonly [group: string, at: string])[] } = {},
): Promise<Responder> {
  const { family = 'udp4', port = 0, groups = [['239.255.255.250', '127.0.0.1']] } = options;
  const heard: Heard[] = [];
  const socket: Socket = createSocket({ type: family, reuseAddr: true, ...(family === 'udp6' && { ipv6Only: true }) });
  socket.on('message', (bytes, from) => {
    const text = bytes.toString('utf8');
    const messageId = /<a:MessageID>([^<]+)</.exec(text)?.[1] ?? '';
    const question = { text, messageId, types: /<d:Types[^>]*>\w+:(\w+)</.exec(text)?.[1] ?? '', from };
    heard.push(question);
    for (const answer of script(question)) socket.send(answer, from.port, from.address, () => undefined);
  });
  socket.bind(port);
  await once(socket, 'listening');
  for (const [group, at] of groups) socket.addMembership(group, at);
  return {
    port: socket.address().port,
    heard,
    async close() {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

export interface MatchText {
  readonly endpoint?: string;
  readonly types?: string;
  readonly scopes?: readonly string[];
  readonly xaddrs?: string;
}

export const namespaces =
  'xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery" xmlns:dn="http://www.onvif.org/ver10/network/wsdl" xmlns:tds="http://www.onvif.org/ver10/device/wsdl" xmlns:wsdp="http://schemas.xmlsoap.org/ws/2006/02/devprof"';

/** A ProbeMatches message; without `relatesTo` the header is left out. */
export function probeMatches(relatesTo: string | undefined, matches: readonly MatchText[]): string {
  const header = relatesTo === undefined ? '' : `<a:RelatesTo>${relatesTo}</a:RelatesTo>`;
  const body = matches.map(
    ({ endpoint, types = 'dn:NetworkVideoTransmitter', scopes = [], xaddrs }) =>
      `<d:ProbeMatch>${endpoint === undefined ? '' : `<a:EndpointReference><a:Address>${endpoint}</a:Address></a:EndpointReference>`}<d:Types>${types}</d:Types><d:Scopes>${scopes.join(' ')}</d:Scopes>${xaddrs === undefined ? '' : `<d:XAddrs>${xaddrs}</d:XAddrs>`}<d:MetadataVersion>1</d:MetadataVersion></d:ProbeMatch>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?><s:Envelope ${namespaces}><s:Header><a:MessageID>urn:uuid:7d1c0d9e-0000-1000-8000-000000000001</a:MessageID>${header}<a:Action>http://schemas.xmlsoap.org/ws/2005/04/discovery/ProbeMatches</a:Action></s:Header><s:Body><d:ProbeMatches>${body.join('')}</d:ProbeMatches></s:Body></s:Envelope>`;
}

export const refusedProbe = (relatesTo: string) =>
  `<s:Envelope ${namespaces}><s:Header><a:RelatesTo>${relatesTo}</a:RelatesTo></s:Header><s:Body><s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>d:MatchingRuleNotSupported</s:Value></s:Subcode></s:Code></s:Fault></s:Body></s:Envelope>`;
