import { type Permission, type PermittedOperation, permissions } from '#lan/access/index.ts';
import { defineOperation, type Operation, type ResponseSpec } from '#lib/contract/operation.ts';
import { problem } from './schemas.ts';

export const problemResponse = (description: string) =>
  ({ description, media: 'application/problem+json', schema: problem }) as const;

export const jsonOf = <S>(schema: S) => ({ media: 'application/json', schema }) as const;

/** An operation of the LAN API. Who may do it stands in the table of permissions, by its id (ADR 16). */
export function lanOperation<const O extends Omit<Operation, 'base' | 'auth'> & { readonly id: PermittedOperation }>(
  operation: O,
) {
  const permission: Permission = permissions[operation.id];
  const responses: O['responses'] = { ...operation.responses, ...refusals(permission, operation.responses) };
  return defineOperation({ ...operation, responses, base: 'lan', auth: credentials(permission) });
}

/** `local`: whoever may open the control socket. */
export function credentials(permission: Permission): readonly string[] {
  if (permission === 'open') return [];
  if (permission === 'local') return ['local'];
  return ['local', 'session', ...(permission.scope === undefined ? [] : ['api_key'])];
}

/** What every operation that takes an account or a key may answer. */
function refusals(permission: Permission, own: Readonly<Record<number, ResponseSpec>>): Record<number, ResponseSpec> {
  if (permission === 'open') return { 421: own[421] ?? problemResponse('This bridge has no such name') };
  return {
    401: own[401] ?? problemResponse('It takes an account or an API key'),
    403: own[403] ?? problemResponse('This account or API key may not'),
  };
}
