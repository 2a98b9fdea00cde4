--- What a status line says of the agent.
local M = {}

---@return tandem.Instance?
local function instance()
  -- What has not been started is not loaded for the sake of a status line.
  local client = package.loaded['tandem.client']
  return client and client.current(vim.api.nvim_get_current_buf())
end

---@param it tandem.Instance
---@return string? text
---@return string? highlight
local function state(it)
  local asks = require('tandem.question').waiting(it.session)
  if asks > 0 then
    return 'asks you', 'TandemWaiting'
  elseif it.running then
    return 'works', 'TandemRunning'
  elseif not it.session then
    return 'off', 'TandemDim'
  end
end

---@param text string
local function plain(text)
  return (text:gsub('%%', '%%%%'))
end

--- What the turn has used, and what the session has cost where that is known.
---@param it tandem.Instance
---@return string?
local function used(it)
  local total = it.usage and it.usage.totalTokens or 0
  if total == 0 then
    return nil
  end
  local text = total < 1000 and ('%d tokens'):format(total) or ('%.1fk tokens'):format(total / 1000)
  if it.cost then
    local money = it.cost.currency == 'USD' and '$%s' or '%s ' .. it.cost.currency
    text = ('%s · %s'):format(text, money:format(('%.' .. (it.cost.amount >= 1 and 2 or 3) .. 'f'):format(it.cost.amount)))
  end
  return text
end

--- For 'statusline': "tandem", what it does, and how many changes wait. Empty before the first use.
---@return string
function M.status()
  local it = instance()
  if not it then
    return ''
  end
  local parts = { 'tandem' }
  local text = state(it)
  parts[#parts + 1] = text and ' ' .. text
  local files, hunks = it.review:pending()
  if hunks > 0 then
    parts[#parts + 1] = (' ±%d'):format(hunks)
    if files > 1 then
      parts[#parts + 1] = ('/%d'):format(files)
    end
  end
  return plain(table.concat(parts))
end

--- The line above the chat: model, mode, what it does, what waits.
---@return string
function M.winbar()
  local it = instance()
  if not it then
    return ''
  end
  local parts = { ' %#TandemTitle#Tandem%* ' }
  if it.model then
    parts[#parts + 1] = ('%%<%%#TandemDim#%s · %s%%* '):format(plain(vim.fs.basename(it.model)), plain(it.mode or ''))
  end
  parts[#parts + 1] = '%='
  if it.sandbox and it.sandbox.level ~= 'full' then
    local level = it.sandbox.level == 'none' and 'no sandbox' or 'sandbox: ' .. it.sandbox.level
    parts[#parts + 1] = ('%%#TandemWaiting#%s%%*  '):format(plain(level))
  end
  local spent = used(it)
  if spent then
    parts[#parts + 1] = ('%%#TandemDim#%s%%*  '):format(plain(spent))
  end
  if #it.jobs > 0 then
    parts[#parts + 1] = ('%%#TandemRunning#%d job%s%%*  '):format(#it.jobs, #it.jobs == 1 and '' or 's')
  end
  local _, hunks = it.review:pending()
  if hunks > 0 then
    parts[#parts + 1] = ('%%#TandemKey#%d change%s%%*  '):format(hunks, hunks == 1 and '' or 's')
  end
  local text, highlight = state(it)
  if text then
    parts[#parts + 1] = ('%%#%s#%s%%* '):format(highlight, text)
  end
  return table.concat(parts)
end

local due = false

--- Has the status lines drawn anew, soon and once, and tells those who listen for User TandemStatus.
function M.changed()
  if due then
    return
  end
  due = true
  vim.schedule(function()
    due = false
    pcall(vim.api.nvim_exec_autocmds, 'User', { pattern = 'TandemStatus', modeline = false })
    vim.cmd.redrawstatus({ bang = true })
  end)
end

return M
