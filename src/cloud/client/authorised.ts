import { randomUUID } from 'node:crypto';
import type { Transport, WireAnswer, WireRequest } from '#lib/contract/client.ts';
import type { Secret } from '#lib/secret.ts';
import { failed, type TokenSource } from './token-source.ts';

/** Where the token of each kind of credential comes from, by the names operations use. */
export type TokenSources = Readonly<Partial<Record<string, TokenSource>>>;

/**
 * Adds the credential an operation needs, and the trace id (S-199). After a 401 the token is dropped and the request
 * sent once more with a new one (S-040); a second 401, or one that no other token can follow, is the caller's. A 403
 * never costs a token.
 */
export function authorised(transport: Transport, sources: TokenSources): Transport {
  return async (request) => {
    const { auth, id } = request.operation;
    const traced = withHeader(request, 'x-partner-trace-id', request.headers['x-partner-trace-id'] ?? randomUUID());
    if (auth.length === 0) return transport(traced);
    const source = auth.map((kind) => sources[kind]).find((found) => found !== undefined);
    if (source === undefined)
      return failed(
        'token_refused',
        `${id} needs a credential (${auth.join(' or ')}) and there is none; name one in the configuration or on the command line`,
      );
    let refused: { readonly generation: number; readonly answer: WireAnswer } | undefined;
    for (;;) {
      const token = await source.get(request.signal);
      if (token.kind === 'failure') return token;
      if (refused?.generation === token.generation) return refused.answer;
      const answer = await transport(withHeader(traced, 'authorization', `Bearer ${token.value.reveal()}`));
      if (answer.kind === 'failure') return answer;
      const clean = withoutToken(answer, token.value);
      if (answer.status !== 401) return clean;
      source.invalidate(token.generation);
      if (refused !== undefined) return clean;
      refused = { generation: token.generation, answer: clean };
    }
  };
}

const withHeader = (request: WireRequest, name: string, value: string): WireRequest => ({
  ...request,
  headers: { ...request.headers, [name]: value },
});

/** A server that quotes the credential in its answer must not bring it into a log or onto a screen. */
function withoutToken(answer: WireAnswer, token: Secret): WireAnswer {
  const body = Buffer.from(answer.body.buffer, answer.body.byteOffset, answer.body.byteLength);
  const text = token.reveal();
  if (text === '' || !body.includes(text)) return answer;
  return { ...answer, body: Buffer.from(body.toString('utf8').replaceAll(text, '[secret]')) };
}
