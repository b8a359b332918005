import { type Permission, permissions, roles, scopes } from '#lan/access/index.ts';
import { cloudOperations, lanOperations } from '#lan/http/index.ts';
import { pageOf } from './template.ts';

/** `docs/access.md`: the table of permissions put into the hand-written template. */
export function accessPage(): string {
  return pageOf('access', { operations: operations(), scopes: scopeTable() });
}

const all = Object.values({ ...lanOperations, ...cloudOperations });

function operations(): string {
  const rows = all.map(
    ({ id, method, path, summary }) => `| ${summary} | \`${method} ${path}\` | ${cells(permissions[id])} |`,
  );
  return [
    `| what | request | ${roles.join(' | ')} | scope of a key |`,
    `|---|---|${roles.map(() => '---|').join('')}---|`,
    ...rows,
  ].join('\n');
}

function cells(permission: Permission): string {
  if (permission === 'open') return [...roles.map(() => 'yes'), 'none needed'].join(' | ');
  if (permission === 'local') return [...roles.map(() => 'no'), 'no; on the box alone'].join(' | ');
  const { roles: may, scope = 'no' } = permission;
  return [...roles.map((role) => (may.includes(role) ? 'yes' : 'no')), scope === 'no' ? scope : `\`${scope}\``].join(
    ' | ',
  );
}

function scopeTable(): string {
  const rows = scopes.map((scope) => {
    const opened = all.filter(({ id }) => {
      const permission: Permission = permissions[id];
      return typeof permission === 'object' && permission.scope === scope;
    });
    return `| \`${scope}\` | ${opened.map(({ id }) => `\`${id}\``).join(', ')} |`;
  });
  return ['| scope | opens |', '|---|---|', ...rows].join('\n');
}
