--- Keeps folds that a person has made by hand through an edit: Neovim loses parts of them where text is replaced.
local api = vim.api

local M = {}

---@class tandem.Fold
---@field first integer an extmark
---@field last integer an extmark
---@field open boolean

--- The folds of the present window around a line, from the innermost to the outermost one. Closing them one after the
--- other is what shows where each of them begins and ends.
---@param line integer
---@return {[1]: integer, [2]: integer, [3]: boolean}[]
local function around(line)
  local result = {}
  local open = vim.fn.foldclosed(line) == -1
  if not open then
    return { { vim.fn.foldclosed(line), vim.fn.foldclosedend(line), false } }
  end
  local before
  for _ = 1, vim.fn.foldlevel(line) do
    vim.cmd(('silent! %dfoldclose'):format(line))
    local fold = { vim.fn.foldclosed(line), vim.fn.foldclosedend(line), true }
    if fold[1] == -1 or (before and before[1] == fold[1] and before[2] == fold[2]) then
      break
    end
    result[#result + 1], before = fold, fold
  end
  vim.cmd(('silent! %dfoldopen!'):format(line))
  return result
end

---@param namespace integer
---@param buf integer
---@param id integer
---@return integer line
local function line_of(namespace, buf, id)
  return api.nvim_buf_get_extmark_by_id(buf, namespace, id, {})[1] + 1
end

--- Makes what is left of a fold the whole of it again.
---@param first integer
---@param last integer
---@param open boolean
local function mend(first, last, open)
  for line = first, last do
    if vim.fn.foldlevel(line) > 0 then
      api.nvim_win_set_cursor(0, { line, 0 })
      vim.cmd('silent! normal! zD')
    end
  end
  vim.cmd(('silent! %d,%dfold'):format(first, last))
  if open then
    vim.cmd(('silent! %dfoldopen'):format(first))
  end
end

--- Remembers the folds around the lines that are about to change; gives what repairs those that suffer.
---@param buf integer
---@param namespace integer for marks, which the caller clears
---@param ranges {first: integer, last: integer}[] rows
---@return fun()
function M.keep(buf, namespace, ranges)
  local windows = {} ---@type table<integer, tandem.Fold[]>
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.wo[window].foldmethod == 'manual' and vim.wo[window].foldenable then
      api.nvim_win_call(window, function()
        local seen, kept = {}, {}
        local count = api.nvim_buf_line_count(buf)
        for _, range in ipairs(ranges) do
          for line = range.first + 1, math.min(range.last + 1, count) do
            for _, fold in ipairs(vim.fn.foldlevel(line) > 0 and around(line) or {}) do
              local key = fold[1] .. ',' .. fold[2]
              if not seen[key] then
                seen[key] = true
                kept[#kept + 1] = {
                  first = api.nvim_buf_set_extmark(buf, namespace, fold[1] - 1, 0, {}),
                  last = api.nvim_buf_set_extmark(buf, namespace, fold[2] - 1, 0, {}),
                  open = fold[3],
                }
              end
            end
          end
        end
        windows[window] = #kept > 0 and kept or nil
      end)
    end
  end
  return function()
    for window, kept in pairs(windows) do
      api.nvim_win_call(window, function()
        local view = vim.fn.winsaveview()
        for _, fold in ipairs(kept) do
          local first, last = line_of(namespace, buf, fold.first), line_of(namespace, buf, fold.last)
          local whole = false
          for _, now in ipairs(last > first and around(first) or {}) do
            whole = whole or (now[1] == first and now[2] == last)
          end
          if last > first and not whole then
            mend(first, last, fold.open)
          end
        end
        vim.fn.winrestview(view)
      end)
    end
  end
end

return M
