import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import type { Asker } from '#site/model/index.ts';
import { askerOf, json } from './answering.ts';
import type { BundlePart, bundleOperations } from './bundle-operations.ts';

export interface BundlePort {
  contents(): readonly BundlePart[];
  /** The document as text: it is large, and written down piece by piece. Rejects with `queue_full` while another is made. */
  make(by: Asker, signal: AbortSignal): Promise<string>;
}

export function bundleHandlers(port: BundlePort): Handlers<typeof bundleOperations, By> {
  return {
    listBundleContents: () => json({ items: port.contents() }),
    makeSupportBundle: async ({ identity, signal }) => ({
      status: 200,
      body: await port.make(askerOf(identity), signal),
      headers: {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        'content-disposition': 'attachment; filename="siteward-support.json"',
      },
    }),
  };
}
