import { activityLogOperations } from '#cloud/contract/index.ts';
import { onSite } from '../access.ts';
import { pageOfLog } from '../logs.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import type { CloudState } from '../state.ts';

export function activityLogsResource(state: CloudState): Resource {
  return partnerResource(state, activityLogOperations, {
    listActivityLogs: onSite(state, ({ query }, site) => ({
      status: 200,
      body: pageOfLog(state.world.activity.of(site.site_id), query),
    })),
  });
}
