--- Completes what can be mentioned behind an @: files, folders, symbols and others, as the server lists them.
local api = vim.api

local M = {}

--- So long the command line waits for a list.
local WAIT_MS = 300

--- The @ and what stands behind it, at the end of the text before the cursor.
---@param before string
---@return string?
function M.at_end(before)
  return before:match('^(@%S*)$') or before:match('%s(@%S*)$')
end

---@param instance tandem.Instance
---@param word string with the @
---@param callback fun(items: tandem.MentionItem[])
local function ask(instance, word, callback)
  local params = { sessionId = instance.session, prefix = word:sub(2) }
  instance:request('tandem/mentions/complete', params, function(err, result)
    callback(not err and result.items or {})
  end)
end

--- What a word on the command line may become. It waits for a moment, and only where a session is there.
---@param word string
---@return string[]
function M.now(word)
  local instance = require('tandem.client').current(api.nvim_get_current_buf())
  if not instance or not instance.session then
    return {}
  end
  local list
  ask(instance, word, function(items)
    list = vim.tbl_map(function(item)
      return item.insert
    end, items)
  end)
  vim.wait(WAIT_MS, function()
    return list ~= nil
  end, 5)
  return list or {}
end

--- Completes mentions in a buffer, while somebody writes in it. The server is started for it where it does not run.
---@param buf integer
---@param root string
function M.follow(buf, root)
  local asked ---@type string? the line up to the cursor that was asked for last
  local function line_before()
    return api.nvim_get_current_line():sub(1, api.nvim_win_get_cursor(0)[2])
  end
  local function offer(items, word)
    local before = line_before()
    local writing = api.nvim_get_mode().mode:find('^i') and api.nvim_get_current_buf() == buf
    if not writing or before ~= asked or #items == 0 then
      return
    end
    local words = {}
    for i, item in ipairs(items) do
      words[i] = { word = item.insert, abbr = item.label, menu = item.kind, icase = 1, dup = 0, equal = 1 }
    end
    vim.fn.complete(#before - #word + 1, words)
  end
  api.nvim_create_autocmd({ 'TextChangedI', 'TextChangedP' }, {
    buffer = buf,
    callback = function()
      local before = line_before()
      local word = M.at_end(before)
      local chosen = vim.fn.complete_info({ 'selected' }).selected >= 0
      if not word or chosen or before == asked then
        return
      end
      asked = before
      require('tandem.client').ensure(root, function(instance, err)
        if not err and instance:serves('tandem/mentions/complete') then
          ask(instance, word, function(items)
            vim.schedule(function()
              offer(items, word)
            end)
          end)
        end
      end)
    end,
  })
  -- Nothing is chosen before somebody chooses it, so that Enter sends what is written. Up to 0.10 the option is global.
  local wanted = 'menu,menuone,noselect'
  if vim.fn.has('nvim-0.11') == 1 then
    vim.bo[buf].completeopt = wanted
    return
  end
  local own = vim.o.completeopt
  vim.o.completeopt = wanted
  api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    callback = function()
      vim.o.completeopt = own
    end,
  })
end

return M
