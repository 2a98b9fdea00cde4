import * as vscode from 'vscode';
import type { Backend } from './backend.ts';
import type { ApproveResult, Plan, PlansResult } from './protocol.ts';
import { visible } from './chat/visible.ts';

/** Lists the changes that plan mode has queued; those that are picked are approved or discarded. */
export async function showPlans(backend: Backend, sessionId: string | undefined): Promise<void> {
  const plans: Plan[] = sessionId === undefined ? [] : (await backend.request<PlansResult>('tandem/plan/list', { sessionId })).plans;
  if (plans.length === 0) {
    return void vscode.window.showInformationMessage('Tandem: no change is planned.');
  }
  const picked = await vscode.window.showQuickPick(plans.map(item), {
    title: 'Tandem: Planned Changes',
    placeHolder: 'The changes to approve or to discard',
    canPickMany: true,
    matchOnDescription: true,
  });
  if (!picked || picked.length === 0) {
    return;
  }
  const planIds = picked.map(({ plan }) => plan.planId);
  const waits = picked.some(({ plan }) => plan.state !== 'stale');
  const [approve, discard] = ['Approve', 'Discard'];
  const choice = await vscode.window.showInformationMessage(
    picked.length === 1 ? `“${visible(picked[0]!.plan.title, false)}”` : `${picked.length} planned changes`,
    { modal: true, detail: diffOf(picked.map(({ plan }) => plan)) },
    ...(waits ? [approve, discard] : [discard]),
  );
  if (choice === discard) {
    await backend.request('tandem/plan/discard', { sessionId, planIds });
  } else if (choice === approve) {
    const { results } = await backend.request<ApproveResult>('tandem/plan/approve', { sessionId, planIds });
    const failed = results.find(({ result }) => !result.success);
    if (failed) {
      throw new Error(failed.result.summary || failed.result.data);
    }
    const made = results.length === 1 ? 'The planned change is' : `${results.length} planned changes are`;
    vscode.window.setStatusBarMessage(`$(check) ${made} made.`, 5000);
  }
}

function item(plan: Plan) {
  const state = plan.needs?.length ? `needs ${plan.needs.join(', ')}` : plan.state === 'stale' ? 'stale' : '';
  const description = [plan.planId, state].filter(Boolean).join(', ');
  return { plan, label: visible(plan.title, false), description, picked: plan.state === 'queued' };
}

/** What a modal window has room for. */
const mostShown = 2000;

function diffOf(plans: Plan[]): string {
  const all = plans.flatMap((plan) => plan.diff.map((file) => file.unified)).join('\n');
  return visible(all.length > mostShown ? `${all.slice(0, mostShown)}\n…` : all, true);
}
