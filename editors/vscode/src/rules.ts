import * as vscode from 'vscode';
import type { Backend } from './backend.ts';
import type { PermissionRule } from './protocol.ts';
import { visible } from './chat/visible.ts';

/** Lists the rules about what the agent may do; one that was kept for an answer can be taken back. */
export async function showRules(backend: Backend, sessionId: string | undefined): Promise<void> {
  const { rules } = await backend.request<{ rules: PermissionRule[] }>('tandem/permissions/list', { sessionId });
  if (rules.length === 0) {
    return void vscode.window.showInformationMessage('Tandem: there are no permission rules.');
  }
  const items = rules.map((rule) => ({
    rule,
    label: `${rule.effect}  ${visible(rule.text ?? rule.tool, false)}`,
    description: scope(rule),
    detail: rule.removable ? undefined : `Written in ${visible(rule.source ?? 'the configuration', false)}`,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: 'Tandem: Permission Rules',
    placeHolder: 'A rule to take back',
    matchOnDescription: true,
  });
  if (!picked) {
    return;
  }
  if (!picked.rule.removable) {
    return void vscode.window.showInformationMessage(`Tandem: ${picked.detail}. Change it there.`);
  }
  const take = 'Take Back';
  if ((await vscode.window.showWarningMessage(`Take back “${picked.label}”?`, { modal: true }, take)) === take) {
    await backend.request('tandem/permissions/set', { scope: 'user', sessionId, remove: [picked.rule.id] });
    vscode.window.setStatusBarMessage(`$(check) “${picked.label}” is taken back.`, 5000);
  }
}

function scope(rule: PermissionRule): string {
  if (rule.scope === 'session') {
    return 'this session';
  }
  return rule.workspace ? visible(rule.workspace, false) : 'everywhere';
}
