--- The colours: each group can be set by a colour scheme or by hand, and is linked to a usual one otherwise.
local M = {}

M.groups = {
  TandemDone = 'DiagnosticOk',
  TandemFailed = 'DiagnosticError',
  TandemRunning = 'DiagnosticInfo',
  TandemWaiting = 'DiagnosticWarn',
  TandemNotice = 'DiagnosticInfo',
  TandemDim = 'Comment',
  TandemThought = 'Comment',
  TandemOutput = 'Comment',
  TandemPrompt = 'CursorLine',
  TandemPromptBar = 'Statement',
  TandemFile = 'Comment',
  TandemRange = 'Comment',
  TandemAdded = 'DiffAdd',
  TandemRemoved = 'DiffDelete',
  TandemAddedText = 'DiffText',
  TandemRemovedText = 'DiffText',
  TandemAddedSign = 'Added',
  TandemRemovedSign = 'Removed',
  TandemConflict = 'DiagnosticWarn',
  TandemHint = 'Comment',
  TandemKey = 'Special',
  TandemCommand = 'String',
  TandemTitle = 'Title',
}

function M.define()
  for name, link in pairs(M.groups) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
