package steer

import (
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/internal/site/pandashares"
)

// Import makes files of divvy's out of those of others.
func Import(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "import", Short: "Make a site file of another system's shares"}
	group.AddCommand(&cobra.Command{
		Use:   "panda-shares FILE",
		Short: "Make a site file of PanDA's table GLOBAL_SHARES",
		Long: `Make a site file of PanDA's table GLOBAL_SHARES and write it to standard output: the tree with its weights,
and a tagging rule a leaf, in the order of the table.

The table is CSV with the columns in the first line, or JSON, a list of objects; - reads standard input. Needed are
NAME, VALUE and PARENT. PRODSOURCELABEL, WORKINGGROUP, CAMPAIGN, PROCESSINGTYPE, TRANSPATH, RTYPE and VO become fields of
the rules. PanDA's patterns fit the begin of a value, those of a rule all of it; what is changed or left out is said in
comments. No daemon is asked, and nothing is applied.`,
		Example: "  divvy import panda-shares global_shares.csv >site.yml\n  divvy apply -f site.yml --dry-run",
		Args:    cli.Takes("FILE, the table as CSV or JSON"),
		RunE: func(_ *cobra.Command, args []string) error {
			src, name, err := cli.ReadFile(c, args[0])
			if err != nil {
				return err
			}
			out, err := pandashares.File(name, src)
			if err != nil {
				return err
			}
			_, err = c.Out.Write(out)
			return err
		},
	})
	return group
}
