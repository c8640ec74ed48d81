-- acp-adapter in CodeCompanion.nvim: put this into your init.lua. Then :CodeCompanionChat opens a chat with it.
-- `acp-adapter setup` prints the same with the full path of your installation.
require("codecompanion").setup({
  adapters = {
    acp = {
      acp_adapter = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = "acp_adapter",
          formatted_name = "acp-adapter",
          commands = { default = { "acp-adapter" } },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "acp_adapter" } },
})
