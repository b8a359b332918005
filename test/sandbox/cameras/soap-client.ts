import { createHash, randomBytes } from 'node:crypto';
import { type Answer, send } from '../cloud/service.ts';

/** A SOAP client of the tests' own: text in, text out. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

const prefixes =
  'xmlns:tds="http://www.onvif.org/ver10/device/wsdl" xmlns:trt="http://www.onvif.org/ver10/media/wsdl" ' +
  'xmlns:tev="http://www.onvif.org/ver10/events/wsdl" xmlns:wsnt="http://docs.oasis-open.org/wsn/b-2" ' +
  'xmlns:wsa="http://www.w3.org/2005/08/addressing"';

export const usernameToken = (login: Login, createdMs = Date.now(), nonce = randomBytes(16)): string => {
  const created = new Date(createdMs).toISOString();
  const digest = createHash('sha1')
    .update(Buffer.concat([nonce, Buffer.from(created + login.password)]))
    .digest('base64');
  return (
    '<Security xmlns="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"><UsernameToken>' +
    `<Username>${login.username}</Username><Password Type="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest">${digest}</Password>` +
    `<Nonce>${nonce.toString('base64')}</Nonce>` +
    `<Created xmlns="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd">${created}</Created>` +
    '</UsernameToken></Security>'
  );
};

export const soap = (
  url: string,
  body: string,
  options: { header?: string; headers?: Record<string, string> } = {},
): Promise<Answer> =>
  send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/soap+xml; charset=utf-8', ...options.headers },
    body:
      `<?xml version="1.0"?><e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope" ${prefixes}>` +
      `<e:Header>${options.header ?? ''}</e:Header><e:Body>${body}</e:Body></e:Envelope>`,
  });

/** The `Authorization` value that answers a digest challenge. */
export function answerDigest(
  challenge: string,
  request: { method: string; uri: string; nc?: number },
  login: Login,
): string {
  const part = (name: string) => new RegExp(`${name}="?([^",]+)`).exec(challenge)?.[1] ?? '';
  const hash = (text: string) =>
    createHash(part('algorithm') === 'SHA-256' ? 'sha256' : 'md5')
      .update(text)
      .digest('hex');
  const nc = (request.nc ?? 1).toString(16).padStart(8, '0');
  const ha1 = hash(`${login.username}:${part('realm')}:${login.password}`);
  const response = hash(`${ha1}:${part('nonce')}:${nc}:abc:auth:${hash(`${request.method}:${request.uri}`)}`);
  return (
    `Digest username="${login.username}", realm="${part('realm')}", nonce="${part('nonce')}", uri="${request.uri}", ` +
    `algorithm=${part('algorithm')}, qop=auth, nc=${nc}, cnonce="abc", response="${response}"`
  );
}

/** The challenges of a 401: Node joins several headers of this name with a comma. */
export const challengesOf = (answer: Answer): string[] =>
  String(answer.headers['www-authenticate']).split(/, (?=Digest )/);
