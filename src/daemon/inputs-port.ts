import { SitewardError } from '#errors.ts';
import type { InputsPort } from '#lan/http/index.ts';
import type { Store } from '#site/store/index.ts';
import { createOpaque } from './opaque.ts';

const linesAtOnce = 500;

/** The recorded input log as the control socket gives it out. Nothing silent ever enters it (safety 4). */
export function inputsPort({ store }: { store: () => Store }): InputsPort {
  const cursors = createOpaque();
  return {
    async lines(cursor) {
      const after = cursor === undefined ? 0 : cursors.open(cursor);
      if (after === undefined)
        throw new SitewardError('audit_discontinued', 'the page before is of another run of siteward; begin anew');
      const lines = await store().inputsAfter({ after, limit: linesAtOnce });
      const last = lines.at(-1);
      return { items: lines.map(({ line }) => line), next: last === undefined ? null : cursors.seal(last.id) };
    },
  };
}
