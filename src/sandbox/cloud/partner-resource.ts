import type { Operation, Operations } from '#lib/contract/operation.ts';
import type { Call, Handler, Handlers } from '#lib/contract/server.ts';
import { type Leaf, partnerRules } from './access.ts';
import { partnerError, sentence } from './answers.ts';
import { type Caller, type Resource, resource } from './resource.ts';
import type { CloudState } from './state.ts';
import { unknownMembers } from './strict.ts';

/** A group of operations under `/partner/v1`; `leaf` finds the last thing their paths name (S-008). */
export function partnerResource<const Ops extends Operations>(
  state: CloudState,
  operations: Ops,
  handlers: Handlers<Ops, Caller>,
  leaf?: Leaf,
): Resource {
  const wrapped = state.dialect.strict_unknown ? strict(operations, handlers) : handlers;
  return resource(operations, wrapped, partnerRules(state, leaf));
}

function strict<Ops extends Operations>(operations: Ops, handlers: Handlers<Ops, Caller>): Handlers<Ops, Caller> {
  const entries = Object.entries<Operation>(operations).map(([id, operation]) => {
    const handle = handlers[id] as Handler<Operation, Caller>;
    const checked = (call: Call<Operation, Caller>) => {
      const errors = unknownMembers(operation, call.raw);
      return errors.length === 0 ? handle(call) : partnerError(400, sentence(errors), errors);
    };
    return [id, checked];
  });
  return Object.fromEntries(entries) as Handlers<Ops, Caller>;
}
